"""Builds and reviews take turns at changing a benchmark's files, so that none undoes what another
has written meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from creval.store.lock import lock

_LOCK = "creval.lock-files"  # a build holds creval.lock from its beginning to its end
_WAIT = 30  # seconds


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One's turn in a folder: for reading what is there now, changing and writing it, and for
    nothing that takes long."""
    held = lock(folder / _LOCK, _WAIT)
    try:
        yield
    finally:
        held.close()
