"""What libraries print must not come among results."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TextIO


class Aside:
    """Sends what is printed to standard error while any is inside: standard output is for results,
    and belongs to all threads."""

    _lock, _inside = threading.Lock(), 0
    _turned: contextlib.redirect_stdout[TextIO]

    def __enter__(self) -> None:
        with Aside._lock:
            Aside._inside += 1
            if Aside._inside == 1:
                Aside._turned = contextlib.redirect_stdout(sys.stderr)
                Aside._turned.__enter__()

    def __exit__(self, *_: object) -> None:
        with Aside._lock:
            Aside._inside -= 1
            if Aside._inside == 0:
                Aside._turned.__exit__(None, None, None)
