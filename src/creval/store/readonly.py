"""A store, open for reading, also while somebody writes to it."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.errors import CrevalError
from creval.core.verdict import VerdictStatus
from creval.store import database_schema
from creval.store.connection import connect
from creval.store.damage import explained
from creval.store.lock import StoreBusy
from creval.store.writer import DATABASE, RunWriter


class StoredTexts(NamedTuple):
    """A store's manifest, and how many texts it holds, by model, role and item."""

    manifest: Mapping[str, Any]
    texts: Counter[tuple[str, str, str]]


def read_stored_metrics(folder: Path) -> tuple[Mapping[str, Any], list[str]]:
    """Return a run's manifest, and the voices that have values in it; nothing is written, and no lock is taken."""
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return {}, []
    with closing(open_readonly(path)) as connection, explained(connection, path):
        return database_schema.read_manifest(connection, path), voices_with_values(connection)


def voices_with_values(connection: sqlite3.Connection) -> list[str]:
    """Return who has given at least one value."""
    rows = connection.execute(
        "SELECT DISTINCT judge FROM voices WHERE EXISTS"
        " (SELECT 1 FROM verdicts WHERE voice = voices.id AND value IS NOT NULL) ORDER BY judge"
    )
    return [judge for (judge,) in rows]


def read_stored_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest; empty if there is none. Nothing is written, and no lock is taken."""
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return {}
    with closing(open_readonly(path)) as connection, explained(connection, path):
        return database_schema.read_manifest(connection, path)


def read_stored_texts(folder: Path, variants: Sequence[str] = ("",)) -> StoredTexts:
    """Return what a folder holds of what models wrote or made, in these variants of calls; no lock is taken."""
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return StoredTexts({}, Counter())
    query = (
        "SELECT judge, system, sample, count(DISTINCT ask) FROM replies JOIN asks ON asks.id = ask"
        " JOIN voices ON voices.id = asks.voice JOIN edits ON edits.id = asks.edit"
        " WHERE replies.status = ? AND text <> ''"
        f" AND variant IN ({', '.join('?' * len(variants))}) GROUP BY 1, 2, 3"
    )
    with closing(open_readonly(path)) as connection, explained(connection, path):
        manifest = database_schema.read_manifest(connection, path)
        rows = connection.execute(query, (VerdictStatus.ANSWERED.value, *variants)).fetchall()
    texts = Counter({(judge, role, item): number for judge, role, item, number in rows})
    return StoredTexts(manifest, texts)


def open_readonly(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads; tables of an older version are brought to the newest first."""
    connection, found = _connect_readonly(path)
    if found < len(database_schema.MIGRATIONS):
        connection.close()
        RunWriter(path.parent).close()
        connection, _ = _connect_readonly(path)
    return connection


def _connect_readonly(path: Path) -> tuple[sqlite3.Connection, int]:
    """Return a connection that only reads, and the version of the store."""
    whole = Path(os.path.realpath(path))
    beside = [whole.with_name(f"{whole.name}{end}") for end in ("-journal", "-wal")]
    alone = not any(other.exists() and other.stat().st_size for other in beside)
    # A writer that was killed left its work half done: opening for writing takes it back.
    mode = "rw" if beside[0].exists() else "ro"
    # Where nothing can be written beside it, as on a read-only disk, WAL needs `immutable`.
    connection = None
    try:
        connection = connect(whole, mode, immutable=alone and not os.access(whole.parent, os.W_OK))
        connection.limit_steps(whole)
        connection.execute("PRAGMA query_only = ON")
        return connection, database_schema.read_version(connection, path)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if not isinstance(error, sqlite3.OperationalError):
            raise
        if "locked" in str(error):
            raise StoreBusy(f"{path.parent} is being written. Try again in a moment.") from error
        raise CrevalError(f"{path} cannot be read: {error}.") from error
