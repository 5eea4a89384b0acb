"""What holds for the whole process while any of its threads is inside."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable


class SharedContext:
    """A context of the whole process, which threads enter and leave as they like: `make` makes the
    one that the first of them enters and the last leaves."""

    def __init__(self, make: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
        self._make = make
        self._lock, self._inside = threading.Lock(), 0
        self._made = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._made.enter_context(self._make())
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._made.close()


aside = SharedContext(lambda: contextlib.redirect_stdout(sys.stderr))
"""Sends what libraries print to standard error: standard output is for results."""
