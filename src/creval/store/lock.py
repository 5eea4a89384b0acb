"""File locks that the operating system releases when the process ends, even if it is killed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from creval.core.errors import CrevalError
from creval.store.connection import connect


class StoreNotWritableError(CrevalError):
    """A folder cannot be opened for writing. It may still be readable."""


class StoreBusy(StoreNotWritableError):  # noqa: N818
    """Another process is writing to a folder."""


def acquire_lock(path: Path, timeout: float = 0) -> sqlite3.Connection:
    """Acquire the lock of a file, waiting up to `timeout` seconds. Close the returned connection to release it."""
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
                f"another creval process is writing to {path.parent}. Wait until it ends, or give another folder."
            ) from error
        raise StoreNotWritableError(f"{path.parent} cannot be written: {error}.") from error
    return held


_LOCK_FILE = "creval.lock-files"  # not creval.lock, which a build holds for its whole duration
_LOCK_TIMEOUT = 30  # seconds


@contextmanager
def file_lock(folder: Path) -> Iterator[None]:
    """Hold a folder's lock while the block reads, changes and writes files of the folder."""
    held = acquire_lock(folder / _LOCK_FILE, _LOCK_TIMEOUT)
    try:
        yield
    finally:
        held.close()
