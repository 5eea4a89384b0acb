"""Locks that the system lets go when their holder dies, however it dies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from creval.core.errors import CrevalError
from creval.store.connection import connect


class StoreNotWritableError(CrevalError):
    """A folder that cannot be opened for writing, which may still be readable."""


class StoreBusy(StoreNotWritableError):  # noqa: N818
    """A folder that another process is writing to."""


def acquire_lock(path: Path, timeout: float = 0) -> sqlite3.Connection:
    """Take the lock that a file stands for, waiting so many seconds for whoever holds it; closing lets it go."""
    try:
        held = connect(path, isolation_level=None, timeout=timeout)
    except sqlite3.Error as error:
        raise StoreNotWritableError(f"{path.parent} cannot be written: {error}.") from error
    try:
        held.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        held.close()
        if "locked" in str(error):
            raise StoreBusy(
                f"another creval is writing to {path.parent}. Wait for it to end, or give another one."
            ) from error
        raise StoreNotWritableError(f"{path.parent} cannot be written: {error}.") from error
    return held


_LOCK_FILE = "creval.lock-files"  # a build holds creval.lock from its beginning to its end
_LOCK_TIMEOUT = 30  # seconds


@contextmanager
def file_lock(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, briefly: to read what is there now, change it and write it."""
    held = acquire_lock(folder / _LOCK_FILE, _LOCK_TIMEOUT)
    try:
        yield
    finally:
        held.close()
