"""Cache of the features that metrics' models extract, in a run's folder. If it is deleted, they are computed again."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creval.store.connection import StoreConnection, UnusableDatabaseError, connect
from creval.store.database_schema import schema_difference

CACHE_FILE = "vectors.db"
_DTYPES = ("float32", "float64", "uint8")
_QUERY_BATCH = 500  # keys per query
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, shape TEXT NOT NULL,
    content BLOB NOT NULL, UNIQUE (model, key))
"""


class FeatureCacheFile:
    """Arrays by model and key in a file, safe for several threads.

    A file that cannot be read or written counts as empty. A damaged file is deleted, so that a new one can be created.
    """

    def __init__(self, folder: str | Path) -> None:
        self._path = Path(folder) / CACHE_FILE
        self._connection: StoreConnection | None = None
        self._lock = Lock()

    def get(self, model: str, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the cached arrays for these keys."""
        found = {}
        with self._lock, self._ignore_errors():
            if self._connection is None and not self._path.is_file():
                return {}
            for start in range(0, len(keys), _QUERY_BATCH):
                some = keys[start : start + _QUERY_BATCH]
                query = (
                    "SELECT key, kind, shape, content FROM vectors WHERE model = ?"
                    f" AND key IN ({', '.join('?' * len(some))})"
                )
                for key, *row in self._connect().execute(query, (model, *some)):
                    if (vector := _decode_array(*row)) is not None:
                        found[key] = vector
        return found

    def put(self, model: str, features: Mapping[str, NDArray[Any]]) -> None:
        """Store arrays, replacing those with the same keys."""
        rows = [
            (model, key, vector.dtype.name, ",".join(map(str, vector.shape)), vector.tobytes())
            for key, vector in features.items()
            if vector.dtype.name in _DTYPES
        ]
        query = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)"
        with self._lock, self._ignore_errors(), self._connect() as connection:
            connection.executemany(query, rows)

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _ignore_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, UnusableDatabaseError):
            pass
        except sqlite3.Error as error:
            if type(error) is sqlite3.DatabaseError:  # not a database, or a damaged one
                self._disconnect()
                with suppress(OSError):
                    self._path.unlink()

    def _connect(self) -> StoreConnection:
        if self._connection is None:
            connection = connect(self._path, timeout=10, check_same_thread=False)
            try:
                for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", _TABLE):
                    connection.execute(statement)
                connection.limit_steps(self._path)
                if difference := schema_difference(connection, _TABLE):
                    raise sqlite3.DatabaseError(difference)
            except BaseException:
                connection.close()
                raise
            weakref.finalize(self, connection.close)
            self._connection = connection
        return self._connection


def _decode_array(kind: str, shape: str, content: bytes) -> NDArray[Any] | None:
    """Decode a stored array; None if the row is invalid."""
    if kind not in _DTYPES:
        return None
    try:
        sides = [int(side) for side in shape.split(",")] if shape else []
        return np.frombuffer(content, dtype=kind).reshape(sides)
    except (ValueError, TypeError, AttributeError):
        return None
