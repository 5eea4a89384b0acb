"""Writing of a run's database, `creval.db`, without losing answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.files import replace_lone_surrogates
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import database_schema
from creval.store.connection import StoreConnection, connect
from creval.store.damage import explained, raise_if_damaged
from creval.store.lock import StoreBusy, StoreNotWritableError, acquire_lock
from creval.store.stored_shapes import EDIT_DETAIL, parse_stored

DATABASE = "creval.db"
_LOCK_FILE = "creval.lock"
_NUMBERED_TABLES = ("edits", "asks", "replies", "voices")
_LAST_IDS = "SELECT " + ", ".join(f"(SELECT max(id) FROM {table})" for table in _NUMBERED_TABLES)
_REPLY_BATCH = 500  # replies in memory at a time


class RunWriter:
    """A run's database, open for writing by one process at a time.

    Transactions are atomic, and survive a kill or a power cut (WAL, synchronous). A new folder or database is only
    accessible to its owner; an existing one keeps its permissions.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise CrevalError(f"{self.folder} is a file. Give a folder for the run.")
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(0o700, exist_ok=True)
        except OSError as error:
            raise StoreNotWritableError(f"{self.folder} cannot be written: {error.strerror}.") from error
        self._in_bulk = False
        self._lock = acquire_lock(self.folder / _LOCK_FILE)
        connection = None
        try:
            self._connection = connection = _open_connection(self.folder / DATABASE)
            with explained(self._connection, self.folder / DATABASE):
                self._load_ids()
            self._connection.unlimit_steps()
        except BaseException as error:
            if connection is not None:
                connection.close()
            self._lock.close()
            self._raise_if_not_writable(error)
            raise

    def _load_ids(self) -> None:
        """Load the ids of edits, calls and voices, which every write needs, into memory."""
        execute = self._connection.execute
        self._stored_ids = self._read_last_ids()
        self._last_ids = {name: last or 0 for name, last in zip(_NUMBERED_TABLES, self._stored_ids, strict=True)}
        rows = execute("SELECT system, sample, draw, id FROM edits")
        self._edit_ids = {EditKey(*row[:3]): int(row[3]) for row in rows}
        self._call_ids = dict(execute("SELECT digest, id FROM asks"))
        rows = execute("SELECT judge, repeat, variant, id FROM voices")
        self._voice_ids: dict[tuple[str, int, str], int] = {row[:3]: row[3] for row in rows}

    def _read_last_ids(self) -> tuple[int | None, ...]:
        """Return the highest id of each numbered table in the database."""
        found: tuple[int | None, ...] = self._connection.execute(_LAST_IDS).fetchone()
        return found

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            raise_if_damaged(self._connection, self.folder / DATABASE, error)
            self._raise_if_not_writable(error)
        finally:
            self.close()

    def _raise_if_not_writable(self, error: BaseException | None) -> None:
        if isinstance(error, sqlite3.OperationalError):
            raise StoreNotWritableError(
                f"{self.folder} cannot be written ({error}). Check that the folder is writable and the disk not full."
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction, which is rolled back if the block raises.

        Raises `StoreBusy` if another process has added rows. The lock should prevent that, but not every file system
        supports locks, and the lock file can be deleted.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if self._read_last_ids() != self._stored_ids:
                raise StoreBusy(
                    f"another process is writing to {self.folder}. Wait until it ends, then run the command again."
                )
            yield
            stored = self._read_last_ids()
            self._connection.execute("COMMIT")
            self._stored_ids = stored
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if self._read_last_ids() == self._stored_ids:
                self._load_ids()
            raise

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Open a transaction for a whole run, in which each verdict is written at most once.

        It is fast because it works without WAL, so that nothing is written twice, and builds the index at the end. WAL
        stays on if another process is reading.
        """
        execute = self._connection.execute
        with suppress(sqlite3.OperationalError):
            execute("PRAGMA journal_mode = DELETE")
        try:
            with self.transaction():
                execute("DROP INDEX verdicts_once")
                self._in_bulk = True
                yield
                execute("CREATE UNIQUE INDEX verdicts_once ON verdicts (edit, probe, voice)")
        finally:
            self._in_bulk = False
            with suppress(sqlite3.OperationalError):
                execute("PRAGMA journal_mode = WAL")

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Cursor:
        """Execute a statement that changes the run. Call `reload` afterwards."""
        return self._connection.execute(statement, parameters)

    def reload(self) -> None:
        """Reload the ids in memory from the database."""
        self._load_ids()

    @property
    def models(self) -> tuple[str, ...]:
        """Models with at least one call."""
        query = "SELECT DISTINCT system FROM edits WHERE id IN (SELECT edit FROM asks) ORDER BY 1"
        return tuple(row[0] for row in self._connection.execute(query))

    @property
    def manifest(self) -> dict[str, Any]:
        return database_schema.read_manifest(self._connection, self.folder / DATABASE)

    @property
    def edits(self) -> dict[EditKey, Edit]:
        """Stored edits by key."""
        return {edit.key: edit for edit in select_edits(self._connection)}

    @property
    def total_cost(self) -> float:
        """Total cost of all replies in US dollars."""
        query = "SELECT coalesce(sum(cost), 0) FROM replies"
        return float(self._connection.execute(query).fetchone()[0])

    @property
    def sample_ids(self) -> tuple[str, ...]:
        """Ids of the stored samples, in order."""
        return tuple(row[0] for row in self._connection.execute("SELECT id FROM samples ORDER BY position"))

    def has_call(self, call: CallKey) -> bool:
        """Return whether this call is stored, with or without success."""
        return call.digest in self._call_ids

    def answered_questions(self, judge: str, *, max_attempts: int | None = None) -> dict[EditKey, set[tuple[int, str]]]:
        """Return, by edit, the questions (repeat, probe) that this judge has answered.

        With `max_attempts`, questions that need not be asked again are included: refused and failed ones, and those
        that were asked more often than this.
        """
        query = (
            "SELECT edit, repeat, probe FROM verdicts JOIN voices ON voices.id = voice"
            " WHERE judge = ? AND variant = '' AND (status = ?"
        )
        done: list[object] = [_clean_cell(judge), VerdictStatus.ANSWERED.value]
        if max_attempts is not None:
            query += " OR status IN (?, ?) OR (SELECT attempt FROM replies WHERE id = reply) > ?"
            done += [VerdictStatus.FAILED.value, VerdictStatus.REFUSED.value, max_attempts]
        query += ")"
        keys = {number: key for key, number in self._edit_ids.items()}
        found: dict[EditKey, set[tuple[int, str]]] = {}
        for edit, repeat, probe in self._connection.execute(query, done):
            found.setdefault(keys[edit], set()).add((repeat, probe))
        return found

    def reply_texts(self, variant: str = "", status: VerdictStatus = VerdictStatus.ANSWERED) -> dict[str, str]:
        """Return the text of each call's last reply with this status, by the call's digest.

        Only calls of this variant are read.
        """
        query = (
            "SELECT digest, text FROM replies JOIN asks ON asks.id = ask"
            " JOIN voices ON voices.id = voice"
            " WHERE variant = ? AND replies.status = ? ORDER BY replies.id"
        )
        rows = self._connection.execute(query, (variant, status.value))
        return {digest: text for digest, text in rows if text}

    @property
    def voices(self) -> tuple[str, ...]:
        """Judges and image metrics that have replies."""
        return tuple(dict.fromkeys(judge for judge, _, _ in self._voice_ids))

    def delete_edits(self) -> None:
        """Delete all edits. Only valid if the store has no calls about them."""
        self._connection.execute("DELETE FROM edits")
        self._edit_ids.clear()

    def measurement_details(self) -> dict[str, tuple[str, ...]]:
        """Return the stored details of each sample's measurements, in order."""
        found: dict[str, tuple[str, ...]] = {}
        query = "SELECT sample, detail FROM probes WHERE text IS NULL ORDER BY rowid"
        for sample, detail in self._connection.execute(query):
            found[sample] = (*found.get(sample, ()), detail)
        return found

    def delete_verdicts(self, edits: Iterable[EditKey], *, only_measurements: bool = False) -> None:
        """Delete the verdicts on these edits, or with `only_measurements` only the measured ones. Replies stay."""
        numbers = [(self._edit_ids[key],) for key in edits]
        query = "DELETE FROM verdicts WHERE edit = ?"
        if only_measurements:
            query += " AND probe IN (SELECT id FROM probes WHERE text IS NULL)"
        self._connection.executemany(query, numbers)

    def put_manifest(self, entries: Mapping[str, Any]) -> None:
        rows = [(key, _ENCODER.encode(value)) for key, value in entries.items()]
        self._insert("manifest", rows, "OR REPLACE")

    def put_samples(
        self, samples: Iterable[tuple[Sample, Sequence[Probe]]], subsets: Mapping[str, Iterable[str]]
    ) -> None:
        """Store the samples with their probes, in this order, replacing all existing ones."""
        for table in ("samples", "probes", "subsets"):
            self._connection.execute(f"DELETE FROM {table}")
        listed = list(samples)
        self._insert("samples", [_sample_row(s, at) for at, (s, _) in enumerate(listed)], "OR REPLACE")
        self._insert("probes", [_probe_row(s.id, probe) for s, all_ in listed for probe in all_], "OR REPLACE")
        self._insert("subsets", [(name, member) for name, ids in subsets.items() for member in ids], "OR REPLACE")

    def delete_answers(self, judge: str, models: Iterable[str]) -> None:
        """Delete a judge's calls, replies and verdicts on these models."""
        mine = "edit IN (SELECT id FROM edits WHERE system = ?)"
        mine += " AND voice IN (SELECT id FROM voices WHERE judge = ?)"
        for model in models:
            for doomed in (
                f"verdicts WHERE {mine}",
                f"replies WHERE ask IN (SELECT id FROM asks WHERE {mine})",
                f"asks WHERE {mine}",
            ):
                self._connection.execute(f"DELETE FROM {doomed}", (_clean_cell(model), _clean_cell(judge)))
        self._call_ids = dict(self._connection.execute("SELECT digest, id FROM asks"))

    def put_edits(self, edits: Iterable[Edit]) -> None:
        """Store edits, replacing those with the same keys."""
        rows = []
        for edit in edits:
            if edit.key not in self._edit_ids:
                self._edit_ids[edit.key] = self._next_id("edits")
            *row, detail = _edit_row(edit)
            rows.append((self._edit_ids[edit.key], *row, _encode_detail(detail)))
        self._insert("edits", rows, conflict=_KEEP_KEY)

    def put_replies(self, replies: Iterable[tuple[CallKey, Reply, Sequence[Verdict]]]) -> None:
        """Store replies with their calls and verdicts."""
        remaining = iter(replies)
        while batch := list(islice(remaining, _REPLY_BATCH)):
            self._put_batch(batch)

    def _put_batch(self, batch: Sequence[tuple[CallKey, Reply, Sequence[Verdict]]]) -> None:
        asks, replies, verdicts = [], [], []
        for ask, reply, outcomes in batch:
            edit, voice, digest = self._edit_ids[ask.subject], self._voice_id(ask), ask.digest
            if digest not in self._call_ids:
                ask_id = self._call_ids[digest] = self._next_id("asks")
                detail = _without_empty(prompt=ask.prompt, images=ask.images, parameters=ask.parameters)
                asks.append((ask_id, digest, edit, voice, _encode_names(ask.parts), _encode_detail(detail)))
            reply_id = self._next_id("replies")
            status, text, origin, attempt, *facts = reply
            replies.append((reply_id, self._call_ids[digest], attempt, _STATUS_VALUES[status], text, origin, *facts))
            verdicts += [
                (edit, probe, voice, _STATUS_VALUES[status], value, said, why, reply_id)
                for probe, status, value, said, why in outcomes
            ]
        self._insert("asks", asks)
        self._insert("replies", replies)
        self._insert("verdicts", verdicts, conflict="" if self._in_bulk else _KEEP_ANSWERED)

    def _insert(self, table: str, rows: Sequence[Sequence[object]], how: str = "", *, conflict: str = "") -> None:
        """Insert rows. With `OR REPLACE`, replace those with the same keys; `conflict` is an SQL conflict clause."""
        if not rows:
            return
        insert = f"INSERT {how} INTO {table} VALUES ({', '.join('?' * len(rows[0]))}) {conflict}"
        remaining = iter(rows)
        try:
            self._connection.executemany(insert, remaining)
        except UnicodeEncodeError:  # from the last row taken; the rows before it are written
            rest = rows[len(rows) - len(list(remaining)) - 1 :]
            self._connection.executemany(insert, [[_clean_cell(cell) for cell in row] for row in rest])

    def _next_id(self, table: str) -> int:
        """Return an unused id of a table."""
        self._last_ids[table] += 1
        return self._last_ids[table]

    def _voice_id(self, ask: CallKey) -> int:
        key = (ask.caller, ask.repeat, ask.variant)
        if key not in self._voice_ids:
            cursor = self._connection.execute(
                "INSERT INTO voices (judge, repeat, variant) VALUES (?, ?, ?)", [_clean_cell(part) for part in key]
            )
            self._voice_ids[key] = int(cursor.lastrowid or 0)
        return self._voice_ids[key]


def _open_connection(path: Path) -> StoreConnection:
    fresh = not path.exists() or path.stat().st_size == 0
    if fresh:  # only the owner may read answers; SQLite's other files get the mode of this one
        path.touch(0o600)
    # Used by one thread at a time, but not always the same one.
    connection = connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    try:
        connection.limit_steps(path)
        found = 0 if fresh else database_schema.read_version(connection, path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        if found < len(database_schema.MIGRATIONS):
            database_schema.migrate(connection, found)
    except BaseException:
        connection.close()
        raise
    return connection


def _edit_row(edit: Edit) -> tuple[Any, ...]:
    """Return an edit's stored columns, with its details as a dict."""
    before = [_edit_row(one) for one in edit.ancestors]
    detail = _without_empty(parents=edit.parents, facts=edit.metadata, seen=edit.judged_files, before=before)
    return (*edit.key, edit.status.value, _path_text(edit.image), edit.reason, detail)


def select_edits(connection: sqlite3.Connection, which: str = "", given: Sequence[object] = ()) -> Iterator[Edit]:
    """Yield the stored edits; `which` is the SQL of a WHERE or ORDER BY clause, and `given` its parameters."""
    query = f"SELECT system, sample, draw, status, image, reason, detail FROM edits {which}"
    return (_build_edit((*row, parse_stored(detail, EDIT_DETAIL))) for *row, detail in connection.execute(query, given))


def _build_edit(row: Sequence[Any]) -> Edit:
    model, sample, draw, status, image, reason, more = row
    return Edit(
        EditKey(model, sample, draw),
        EditStatus(status),
        Path(image) if image else None,
        reason,
        tuple(EditKey(*parent) for parent in more.get("parents", ())),
        more.get("facts", {}),
        {name: FileStamp(*stamp) for name, stamp in more.get("seen", {}).items()},
        tuple(map(_build_edit, more.get("before", ()))),
    )


def _sample_row(sample: Sample, position: int) -> tuple[object, ...]:
    detail = _without_empty(
        steps=[asdict(step) for step in sample.steps],
        mask=_path_text(sample.mask),
        references=[_path_text(reference) for reference in sample.references],
        captions=dict(sample.captions),
        made_of=sample.derived_from,
    )
    source = _path_text(sample.source)
    tags = _encode_detail(dict(sample.tags))
    return sample.id, position, sample.instruction, source, tags, _encode_detail(detail)


def _probe_row(sample: str, probe: Probe) -> tuple[object, ...]:
    key = (sample, probe.id, probe.metric)
    if isinstance(probe, Measurement):
        return (*key, *(None,) * 5, measurement_detail(probe))
    words = (probe.text, probe.label, probe.reference, probe.released_reference)
    return (*key, *words, probe.weight, _question_detail(probe))


def measurement_detail(probe: Measurement) -> str:
    """Return a measurement's image metric and parameters in their stored form."""
    return _encode_detail({"gauge": probe.image_metric, "parameters": dict(probe.parameters)})


def _question_detail(question: Question) -> str:
    if question.scale == _QUESTION_DEFAULTS["scale"] and question[-6:] == _DEFAULT_DETAILS:
        return "{}"
    return _encode_detail(
        {
            DETAIL_KEYS.get(name, name): given
            for name in _DETAIL_FIELDS
            if (given := getattr(question, name)) != _QUESTION_DEFAULTS[name]
        }
    )


# An id that belongs to another edit raises an error and is never overwritten.
_KEEP_KEY = "ON CONFLICT (system, sample, draw) DO UPDATE SET " + ", ".join(
    f"{column} = excluded.{column}" for column in ("id", "status", "image", "reason", "detail")
)
# Never replace an answered verdict.
_KEEP_ANSWERED = (
    "ON CONFLICT (edit, probe, voice) DO UPDATE SET status = excluded.status,"
    " value = excluded.value, said = excluded.said, explanation = excluded.explanation,"
    f" reply = excluded.reply WHERE verdicts.status <> '{VerdictStatus.ANSWERED.value}'"
)
_STATUS_VALUES = {status: status.value for status in VerdictStatus}
# Stored keys that differ from the field's name.
DETAIL_KEYS = {"scale": "contract"}
_DETAIL_FIELDS = ("scale", "shows", "step", "prompt", "rubric", "group", "form")
_QUESTION_DEFAULTS = Question._field_defaults
_DEFAULT_DETAILS = tuple(_QUESTION_DEFAULTS[name] for name in _DETAIL_FIELDS[1:])


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _without_empty(**detail: object) -> dict[str, object]:
    return {key: value for key, value in detail.items() if value}


def _encode_detail(value: object) -> str:
    return _ENCODER.encode(value) if value else "{}"


@lru_cache(maxsize=4096)
def _encode_names(names: tuple[str, ...]) -> str:
    return _ENCODER.encode(names)


def _path_text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _clean_cell(cell: object) -> object:
    return replace_lone_surrogates(cell) if isinstance(cell, str) else cell
