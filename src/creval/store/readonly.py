"""Read-only access to a store, also while another process writes to it."""

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
    """A store's manifest, and the number of texts that models wrote, by model, role and item."""

    manifest: Mapping[str, Any]
    texts: Counter[tuple[str, str, str]]


def read_stored_metrics(folder: Path) -> tuple[Mapping[str, Any], list[str]]:
    """Return a run's manifest, and the voices that have values. Writes nothing and takes no lock."""
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return {}, []
    with closing(open_readonly(path)) as connection, explained(connection, path):
        return database_schema.read_manifest(connection, path), voices_with_values(connection)


def voices_with_values(connection: sqlite3.Connection) -> list[str]:
    """Return the judges and image metrics that have at least one value."""
    rows = connection.execute(
        "SELECT DISTINCT judge FROM voices WHERE EXISTS"
        " (SELECT 1 FROM verdicts WHERE voice = voices.id AND value IS NOT NULL) ORDER BY judge"
    )
    return [judge for (judge,) in rows]


def read_stored_manifest(folder: Path) -> dict[str, Any]:
    """Return a folder's manifest; empty if there is none. Writes nothing and takes no lock."""
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return {}
    with closing(open_readonly(path)) as connection, explained(connection, path):
        return database_schema.read_manifest(connection, path)


def read_stored_texts(folder: Path, variants: Sequence[str] = ("",)) -> StoredTexts:
    """Return a folder's manifest, and the number of texts that models wrote. Takes no lock.

    Only calls of these variants count.
    """
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


def read_reply_texts(folder: Path, variant: str = "") -> dict[str, str]:
    """Return the text of each answered call in a folder, by the call's digest. Takes no lock.

    Only calls of this variant are read.
    """
    path = folder / DATABASE
    if not path.is_file() or not path.stat().st_size:
        return {}
    query = (
        "SELECT digest, text FROM replies JOIN asks ON asks.id = ask JOIN voices ON voices.id = voice"
        " WHERE variant = ? AND replies.status = ? ORDER BY replies.id"
    )
    with closing(open_readonly(path)) as connection, explained(connection, path):
        rows = connection.execute(query, (variant, VerdictStatus.ANSWERED.value)).fetchall()
    return {digest: text for digest, text in rows if text}


def open_readonly(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, after migrating the tables of an older version."""
    connection, found = _connect_readonly(path)
    if found < len(database_schema.MIGRATIONS):
        connection.close()
        RunWriter(path.parent).close()
        connection, _ = _connect_readonly(path)
    return connection


def _connect_readonly(path: Path) -> tuple[sqlite3.Connection, int]:
    """Open a read-only connection; return it with the version of the store."""
    whole = Path(os.path.realpath(path))
    beside = [whole.with_name(f"{whole.name}{end}") for end in ("-journal", "-wal")]
    alone = not any(other.exists() and other.stat().st_size for other in beside)
    # A killed writer left an unfinished transaction. Opening for writing rolls it back.
    mode = "rw" if beside[0].exists() else "ro"
    # In a folder that is not writable, for example on a read-only disk, WAL needs `immutable`.
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
            raise StoreBusy(f"another process is writing to {path.parent}. Try again in a moment.") from error
        raise CrevalError(f"{path} cannot be read: {error}.") from error
