"""Cache of judges' replies, shared by all runs.

It is one file. A reply's key is the complete request, so runs, models and paths do not matter.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from creval.core.cache import CACHE_ENV, cache_folder
from creval.core.errors import CrevalError
from creval.core.files import replace_lone_surrogates

_VERSION = 1
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB NOT NULL UNIQUE, judge TEXT NOT NULL, made REAL NOT NULL, text TEXT NOT NULL, ended TEXT NOT NULL,
    logprobs TEXT, tokens_in INTEGER, tokens_out INTEGER, cost REAL);
"""
_ROW_BYTES = "length(CAST(text AS BLOB)) + coalesce(length(CAST(logprobs AS BLOB)), 0) + length(judge) + 80"
# A row as this module writes it. Any other row, damaged or manipulated, is ignored.
_SOUND = (
    "typeof(judge) = 'text' AND typeof(text) = 'text' AND typeof(ended) = 'text' AND made BETWEEN 0 AND 1e11"
    " AND (cost IS NULL OR cost BETWEEN 0 AND 1e6) AND (tokens_in IS NULL OR tokens_in BETWEEN 0 AND 1e12)"
    " AND (tokens_out IS NULL OR tokens_out BETWEEN 0 AND 1e12)"
)
_BUSY_TIMEOUT = 2.0  # seconds to wait for another process while judging
_QUERY_BATCH = 500  # keys per query


class CachedAnswer(NamedTuple):
    """One raw reply. `logprobs` are its tokens with their alternatives; `cost` is in US dollars."""

    text: str
    finish_reason: str
    logprobs: Sequence[Any] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class JudgeShare(NamedTuple):
    """A judge's part of the cache: number of answers, bytes, cost, and times of the oldest and newest (Unix time).

    The cost is what the answers originally cost, in US dollars; None if no price is known.
    """

    judge: str
    answers: int
    size: int
    cost: float | None
    oldest: float
    newest: float


def answer_cache_path() -> Path:
    """Return the path of the cache file, which may not exist."""
    return cache_folder() / "answers" / "answers.db"


class AnswerCache:
    """The cache of answers, safe for several threads and processes.

    A cache that cannot be read or written counts as empty, and `problem` contains a warning with the reason.
    """

    def __init__(self) -> None:
        self.path = answer_cache_path()
        self.problem = ""
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._reader_lock, self._writer_lock = Lock(), Lock()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, CachedAnswer]:
        """Return the cached answers for these keys."""
        found: dict[bytes, CachedAnswer] = {}
        with self._reader_lock, self._note_problems():
            if self.problem or (self._reader is None and not self.path.is_file()):
                return found
            self._reader = self._reader or self._open()
            for start in range(0, len(keys), _QUERY_BATCH):
                some = keys[start : start + _QUERY_BATCH]
                query = (
                    "SELECT key, text, ended, logprobs, tokens_in, tokens_out, cost FROM answers"
                    f" WHERE {_SOUND} AND key IN ({', '.join('?' * len(some))})"
                )
                for key, text, ended, logprobs, *took in self._reader.execute(query, some):
                    with suppress(ValueError, TypeError, RecursionError):  # an invalid row counts as missing
                        found[key] = CachedAnswer(text, ended, _read_logprobs(logprobs), *took)
        return found

    def put(self, judge: str, answers: Mapping[bytes, CachedAnswer]) -> None:
        """Store answers, replacing those with the same keys."""
        made = time.time()
        rows = [
            (key, judge, made, replace_lone_surrogates(text), ended, json.dumps(logprobs) if logprobs else None, *took)
            for key, (text, ended, logprobs, *took) in answers.items()
        ]
        with self._writer_lock, self._note_problems():
            if self.problem:
                return
            if self._writer is None:
                _create_private(self.path)
                self._writer = self._open()
            with self._writer:
                self._writer.execute("BEGIN IMMEDIATE")
                self._writer.executemany(f"INSERT OR REPLACE INTO answers VALUES ({', '.join('?' * 9)})", rows)

    def _open(self) -> sqlite3.Connection:
        connection = _connect(self.path, _BUSY_TIMEOUT)
        weakref.finalize(self, connection.close)
        return connection

    @contextmanager
    def _note_problems(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):  # a busy cache is tried again later
                self._give_up(str(error))
        except (sqlite3.Error, OSError, ValueError, CrevalError) as error:
            self._give_up(getattr(error, "strerror", None) or str(error))

    def _give_up(self, reason: str) -> None:
        self.problem = (
            f"warning: the cache of answers in {self.path} cannot be used ({reason.rstrip('.')}), so all questions "
            f"are sent to the judge. Delete the file, or set {CACHE_ENV} to another folder."
        )

    def close(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reader = self._writer = None

    def list_judges(self) -> list[JudgeShare]:
        """Return each judge's part of the cache, the largest first; raises `CrevalError` if the file is unreadable."""
        if not self.path.is_file():
            return []
        query = (
            f"SELECT judge, count(*), sum({_ROW_BYTES}), sum(cost), min(made), max(made) FROM answers"
            f" WHERE {_SOUND} GROUP BY judge ORDER BY 2 DESC, 1"
        )
        with _reporting(self.path), closing(_connect(self.path, 10)) as connection:
            return [JudgeShare(*row) for row in connection.execute(query)]

    def count_answers(self, judges: Iterable[str]) -> int:
        """Return the number of answers by these judges; 0 if the cache cannot be read."""
        names = list(judges)
        with self._reader_lock, self._note_problems():
            if self.problem or not self.path.is_file():
                return 0
            self._reader = self._reader or self._open()
            query = f"SELECT count(*) FROM answers WHERE judge IN ({', '.join('?' * len(names))})"
            return int(self._reader.execute(query, names).fetchone()[0])
        return 0

    def prune(
        self, *, older_than: float | None = None, max_bytes: float | None = None, judge: str | None = None
    ) -> int:
        """Delete answers and return their number.

        - `older_than`: delete answers older than this many seconds.
        - `max_bytes`: then delete the oldest answers until the file is no larger than this.
        - `judge`: delete only this judge's answers.

        Without `older_than` and `max_bytes`, all answers (of the judge) are deleted.
        """
        if not self.path.is_file():
            return 0
        whose, names = ("judge = ?", (judge,)) if judge else ("1", ())
        with _reporting(self.path), closing(_connect(self.path, 60)) as connection:
            before = connection.total_changes
            if older_than is not None:
                connection.execute(
                    f"DELETE FROM answers WHERE made < ? AND {whose}", (time.time() - older_than, *names)
                )
            if max_bytes is not None:
                while (file := _file_bytes(connection)) > max_bytes and _delete_oldest(
                    connection, 1 - max_bytes / file, whose, names
                ):
                    pass
            if older_than is None and max_bytes is None:
                connection.execute(f"DELETE FROM answers WHERE {whose}", names)
            deleted = connection.total_changes - before
            _file_bytes(connection)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return deleted


def _read_logprobs(stored: str | None) -> list[list[Any]]:
    """Parse stored tokens with their alternatives; raises `ValueError` or `TypeError` if they are invalid."""
    return [
        [str(token), [[str(word), float(value)] for word, value in options]]
        for token, options in (json.loads(stored) if stored else ())
    ]


def _file_bytes(connection: sqlite3.Connection) -> int:
    """Remove deleted rows from the file and return its size."""
    connection.commit()
    connection.execute("VACUUM")
    pages, size = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size"))
    return pages * size


def _delete_oldest(connection: sqlite3.Connection, share: float, whose: str, names: Sequence[str]) -> int:
    """Delete the oldest answers, and return their number.

    They make up this share of the bytes of all answers. At least one answer is deleted.
    """
    excess = share * connection.execute(f"SELECT total({_ROW_BYTES}) FROM answers").fetchone()[0]
    doomed = []
    for key, size in connection.execute(
        f"SELECT key, {_ROW_BYTES} FROM answers WHERE {whose} ORDER BY made, key", names
    ):
        doomed.append((key,))
        excess -= size
        if excess <= 0:
            break
    connection.executemany("DELETE FROM answers WHERE key = ?", doomed)
    return len(doomed)


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise CrevalError(f"{path} cannot be used: {error}. It is only a cache, so you can delete it.") from error


def _create_private(path: Path) -> None:
    """Create an empty file, and its folder, that only the owner can read. SQLite's other files get the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _require_own(path: Path) -> None:
    """Refuse a cache that another user owns or can write to, because its content is used as a judge's answers."""
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    for place in (path.parent, path):
        status = place.stat()
        if user and status.st_uid != user:
            raise CrevalError(f"{place} belongs to another user")
        if os.name == "posix" and status.st_mode & 0o002:
            raise CrevalError(f"{place} is writable by everybody")


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    _require_own(path)
    connection = sqlite3.connect(path, timeout=timeout, check_same_thread=False)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise CrevalError("it was created by a newer creval")
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        if version < _VERSION:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLE} PRAGMA user_version = {_VERSION}; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection
