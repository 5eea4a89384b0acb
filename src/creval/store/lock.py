"""Locks that the system lets go when their holder dies, however it dies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from creval.core.errors import CrevalError


def lock(path: Path, wait: float = 0) -> sqlite3.Connection:
    """Take the lock that a file stands for, waiting so many seconds for whoever holds it; closing
    lets it go."""
    try:
        held = sqlite3.connect(path, isolation_level=None, timeout=wait)
    except sqlite3.Error as error:
        raise CrevalError(f"{path.parent} cannot be written: {error}.") from error
    try:
        held.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        held.close()
        if "locked" in str(error):
            raise CrevalError(
                f"another creval is writing to {path.parent}. Wait for it to end, or give "
                "another one."
            ) from error
        raise CrevalError(f"{path.parent} cannot be written: {error}.") from error
    return held


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
