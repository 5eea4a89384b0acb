"""Locks that the system lets go when their holder dies, however it dies."""

from __future__ import annotations

import sqlite3
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
