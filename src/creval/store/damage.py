"""Diagnosis of damaged databases."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from creval import registry
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.verdict import VerdictStatus
from creval.store import stored_shapes as shapes
from creval.store.database_schema import damage_error, read_manifest

_TYPES = {"TEXT": {"text"}, "INTEGER": {"integer"}, "REAL": {"real", "integer"}}
_JSON_COLUMNS = (
    ("samples", "tags", shapes.TAGS),
    ("samples", "detail", shapes.SAMPLE_DETAIL),
    ("probes WHERE text IS NULL", "detail", shapes.MEASUREMENT_DETAIL),
    ("probes WHERE text IS NOT NULL", "detail", shapes.QUESTION_DETAIL),
    ("edits", "detail", shapes.EDIT_DETAIL),
    ("asks", "detail", shapes.CALL_DETAIL),
    ("asks", "probes", shapes.CALL_PARTS),
)
_STATUSES = (("edits", EditStatus), ("verdicts", VerdictStatus), ("replies", VerdictStatus))
_MAX_NUMBER = 1e15  # above it, sums lose whole units
# Dangling references: the table, the condition, and the kind of the missing row.
_REFERENCES = (
    ("probes", "sample NOT IN (SELECT id FROM samples)", "a sample"),
    ("subsets", "sample NOT IN (SELECT id FROM samples)", "a sample"),
    ("edits", "EXISTS (SELECT 1 FROM samples) AND sample NOT IN (SELECT id FROM samples)", "a sample"),
    ("asks", "edit NOT IN (SELECT id FROM edits)", "an edit"),
    ("asks", "voice NOT IN (SELECT id FROM voices)", "a voice"),
    ("replies", "ask NOT IN (SELECT id FROM asks)", "a call"),
    ("verdicts", "edit NOT IN (SELECT id FROM edits)", "an edit"),
    ("verdicts", "voice NOT IN (SELECT id FROM voices)", "a voice"),
    (
        "verdicts JOIN edits ON edits.id = verdicts.edit",
        "NOT EXISTS (SELECT 1 FROM probes WHERE probes.sample = edits.sample AND probes.id = verdicts.probe)",
        "a question",
    ),
)


@contextmanager
def explained(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """If the block fails because the database is damaged, raise an error that describes the damage instead."""
    try:
        yield
    except Exception as error:
        raise_if_damaged(connection, path, error)
        raise


def raise_if_damaged(connection: sqlite3.Connection, path: Path, error: BaseException | None) -> None:
    """Raise an error that describes a database's damage if the damage may have caused `error`."""
    if not isinstance(error, Exception) or isinstance(error, CrevalError) or "locked" in str(error):
        return
    if what := find_damage(connection, path):
        raise damage_error(path, what) from error


def find_damage(connection: sqlite3.Connection, path: Path) -> str:
    """Return a description of the first damage found in a database, or "". Reads the whole database."""
    try:
        for checked in (_check_pages, _check_columns, _check_numbers, _check_json, _check_references):
            if what := next(checked(connection), ""):
                return what
        return _check_manifest(connection, path)
    except sqlite3.ProgrammingError:  # the connection is closed
        return ""
    except sqlite3.Error as error:
        return str(error)


def _check_pages(connection: sqlite3.Connection) -> Iterator[str]:
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        yield str(found).splitlines()[-1]


def _check_columns(connection: sqlite3.Connection) -> Iterator[str]:
    """Check that values have their column's declared type, which SQLite itself does not enforce."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        columns = connection.execute(f"PRAGMA main.table_info({json.dumps(table)})").fetchall()
        for _, column, kind, is_required, _, is_key in columns:
            allowed = _TYPES.get(kind, set()) | ({"null"} if not is_required and not is_key else set())
            if table.startswith("sqlite_") or kind not in _TYPES:
                continue
            stored = f"main.{json.dumps(table)}"  # the table itself, not the temporary view with labels
            listed = ", ".join(f"'{one}'" for one in sorted(allowed))
            row = connection.execute(
                f"SELECT typeof({column}) FROM {stored} WHERE typeof({column}) NOT IN ({listed}) LIMIT 1"
            ).fetchone()
            if row is not None:
                yield f"in a row of {table}, {column} has the type {row[0]}"
            if "text" in allowed:
                for _ in connection.execute(f"SELECT {column} FROM {stored}"):
                    pass  # SQLite raises an error if the text is not UTF-8
    for table, statuses in _STATUSES:
        known = tuple(status.value for status in statuses)
        query = f"SELECT status FROM {table} WHERE status NOT IN ({', '.join('?' * len(known))}) LIMIT 1"
        for (status,) in connection.execute(query, known):
            yield f"a row of {table} has the unknown status {status[:40]!r}"


def _check_numbers(connection: sqlite3.Connection) -> Iterator[str]:
    for table, column in (("verdicts", "value"), ("probes", "weight"), ("replies", "cost"), ("replies", "latency")):
        for (number,) in connection.execute(
            f"SELECT {column} FROM {table} WHERE abs({column}) > {_MAX_NUMBER} LIMIT 1"
        ):
            yield f"in a row of {table}, {column} is {number}"


def _check_json(connection: sqlite3.Connection) -> Iterator[str]:
    for table, column, shape in _JSON_COLUMNS:
        for (text,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}"):
            try:
                value: Any = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield f"in a row of {_first_word(table)}, {column} is not JSON ({error})"
            else:
                if wrong := shapes.shape_error(value, shape, column):
                    yield f"in a row of {_first_word(table)}, {wrong}"


def _first_word(table: str) -> str:
    return table.partition(" ")[0]


def _check_references(connection: sqlite3.Connection) -> Iterator[str]:
    for table, condition, what in _REFERENCES:
        if connection.execute(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1").fetchone():
            yield f"a row of {_first_word(table)} refers to {what} that does not exist"


def _check_manifest(connection: sqlite3.Connection, path: Path) -> str:
    """Check that the manifest has the required entries.

    Also check that the run's samples and probes only use kinds of steps and metrics that the manifest's entries define.
    """
    manifest = read_manifest(connection, path)
    if "protocol" not in manifest:
        return ""
    for name in ("benchmark", "judge"):
        if name not in manifest:
            return f"its manifest lacks {name}"
    schema = registry.protocols.get(manifest["protocol"])().for_metrics(manifest.get("question_metrics", ())).schema
    metrics = {metric.name for metric in schema.metrics}
    for (metric,) in connection.execute("SELECT DISTINCT metric FROM probes"):
        if metric not in metrics:
            return f"a row of probes has the unknown metric {metric[:40]!r}"
    kinds = {group for level in manifest.get("levels", ()) if level["parts"] for group in level["groups"]}
    for (detail,) in connection.execute("SELECT detail FROM samples") if kinds else ():
        for step in json.loads(detail).get("steps", ()):
            if step.get("kind") not in kinds:
                return f"a step of a sample has the unknown kind {step.get('kind')!r}"
    return ""
