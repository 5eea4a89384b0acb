"""The tables of a run's database, and the migrations between versions of them.

All columns are text, numbers or JSON, so that `sqlite3 RUN/creval.db` can read them. The view `answers` has one row per
answer. A voice is one judge in one repeat and one variant.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.store.connection import UnusableDatabaseError
from creval.store.stored_shapes import MANIFEST, shape_error

APPLICATION_ID = 0x43524556  # "CREV"

_VERSION_1 = """
CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE samples (
    id TEXT PRIMARY KEY, position INTEGER NOT NULL, instruction TEXT NOT NULL, source TEXT,
    tags TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE subsets (name TEXT, sample TEXT, PRIMARY KEY (name, sample)) WITHOUT ROWID;
CREATE TABLE probes (
    sample TEXT NOT NULL, id TEXT NOT NULL, metric TEXT NOT NULL, text TEXT, label TEXT,
    reference TEXT, released TEXT, weight REAL, detail TEXT NOT NULL,
    UNIQUE (sample, id));
CREATE TABLE edits (
    id INTEGER PRIMARY KEY, system TEXT NOT NULL, sample TEXT NOT NULL, draw INTEGER NOT NULL,
    status TEXT NOT NULL, image TEXT, reason TEXT NOT NULL, detail TEXT NOT NULL,
    UNIQUE (system, sample, draw));
CREATE TABLE voices (
    id INTEGER PRIMARY KEY, judge TEXT NOT NULL, repeat INTEGER NOT NULL, variant TEXT NOT NULL,
    UNIQUE (judge, repeat, variant));
CREATE TABLE asks (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, edit INTEGER NOT NULL REFERENCES edits,
    voice INTEGER NOT NULL REFERENCES voices, probes TEXT NOT NULL, detail TEXT NOT NULL);
CREATE TABLE replies (
    id INTEGER PRIMARY KEY, ask INTEGER NOT NULL REFERENCES asks, attempt INTEGER NOT NULL,
    status TEXT NOT NULL, text TEXT, origin TEXT NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, cost REAL, latency REAL);
CREATE TABLE verdicts (
    edit INTEGER NOT NULL REFERENCES edits, probe TEXT NOT NULL,
    voice INTEGER NOT NULL REFERENCES voices, status TEXT NOT NULL, value REAL,
    said TEXT NOT NULL, explanation TEXT NOT NULL, reply INTEGER REFERENCES replies);
CREATE UNIQUE INDEX verdicts_once ON verdicts (edit, probe, voice);
CREATE VIEW answers AS
    SELECT edits.system, edits.sample, edits.draw, probes.metric, verdicts.probe,
        probes.text AS question, probes.weight, probes.reference, verdicts.said AS answer,
        verdicts.status, verdicts.value, verdicts.explanation,
        voices.judge, voices.repeat, voices.variant
    FROM verdicts JOIN edits ON edits.id = verdicts.edit
    JOIN voices ON voices.id = verdicts.voice
    JOIN probes ON probes.sample = edits.sample AND probes.id = verdicts.probe;
"""

# MIGRATIONS[n] takes a store from version n to version n + 1; version 0 is an empty file.
MIGRATIONS: Sequence[str] = (_VERSION_1,)


def read_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a store; raises `CrevalError` if this creval cannot read the store."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise CrevalError(f"{path} is not a run: {error}.") from error
    if application != APPLICATION_ID:
        raise CrevalError(f"{path} is a database, but was not created by creval.")
    if found > len(MIGRATIONS):
        raise CrevalError(
            f"{path} was written by a newer creval (its tables have version {found}; this creval "
            f"supports up to {len(MIGRATIONS)}). Upgrade creval to open it."
        )
    if difference := schema_difference(connection, "".join(MIGRATIONS[: max(found, 0)])):
        raise damage_error(path, difference)
    return found


def damage_error(path: Path, what: str) -> UnusableDatabaseError:
    """Return the error for a damaged database."""
    return UnusableDatabaseError(
        f"{path} is damaged: {what}. Restore it from a backup, or create it again in another folder."
    )


_Schema = Mapping[str, tuple[str, str]]
# An index over plain columns computes nothing, so it is safe.
_PLAIN_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX \w+ ON \w+ ?\([\w, ]+\)")


def _read_schema(connection: sqlite3.Connection) -> _Schema:
    """Return a database's tables, indexes, views and triggers by name: the type and the SQL statement of each."""
    rows = connection.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {str(name): (str(kind), " ".join(str(sql).split())) for name, kind, sql in rows}


@lru_cache(maxsize=4)
def _schema_of(script: str) -> _Schema:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(script)
        return _read_schema(made)


def schema_difference(connection: sqlite3.Connection, script: str) -> str:
    """Return a description of the difference between a schema and the one that a script creates, or "".

    In a file from an untrusted source, a view, a computed column or a trigger could execute anything.
    """
    found, wanted = _read_schema(connection), _schema_of(script)
    for name, made in wanted.items():
        if found.get(name) != made:
            return f"its {made[0]} {name} {'was changed' if name in found else 'is missing'}"
    for name in found.keys() - wanted.keys():
        kind, sql = found[name]
        if kind == "trigger" or (kind == "index" and not _PLAIN_INDEX.fullmatch(sql)):
            return f"it has the {kind} {name}, which creval did not create"
    return ""


def read_manifest(connection: sqlite3.Connection, path: Path) -> dict[str, Any]:
    """Return the manifest of a store; raises `UnusableDatabaseError` if its content is invalid."""
    try:
        rows = connection.execute("SELECT key, value FROM manifest")
        manifest = {key: json.loads(value) for key, value in rows}
    except (ValueError, TypeError, RecursionError) as error:
        raise damage_error(path, f"its manifest is not JSON ({error})") from error
    if wrong := shape_error(manifest, MANIFEST, "its manifest"):
        raise damage_error(path, wrong)
    return manifest


def migrate(connection: sqlite3.Connection, from_version: int, migrations: Sequence[str] | None = None) -> None:
    """Migrate a store from version `from_version` to the newest one in a single transaction."""
    migrations = MIGRATIONS if migrations is None else migrations
    script = "".join(migrations[from_version:])
    script += f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {len(migrations)};"
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
