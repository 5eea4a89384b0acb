"""A database that a test changes behind creval's back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def edit_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database; commit and close it at the end, which `sqlite3.connect` alone does not."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection
