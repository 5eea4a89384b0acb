"""Ways to damage a store, as by a faulty disk or transfer, a database editor or an attacker."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

VALUES: list[Any] = [None, "", "nothing", "1", -1, 0, 10**18, 1e308, float("inf"), b"\xff\x00", 0.5, "done", "x" * 5000]
LEAVES: list[Any] = [None, "", "x", -1, 10**30, 1e308, True, [], {}, [[]], {"a": {"b": 1}}, ["x", 1], "\ud800", "\0"]
TEXTS = ["", "null", "[]", "{}", "5", '"x"', "[" * 100_000, "NaN", "{", '{"a": 1e999}', '{"": {"": [null]}}']


def damage(database: Path, seed: int) -> str:
    """Damage a database in one of many ways; return a description."""
    chance = random.Random(seed)
    ways: list[Callable[[Path, random.Random], str]] = [
        flip_bytes,
        cut_or_fill,
        change_schema,
        delete_rows,
        *[change_cell] * 4,
        *[change_json] * 4,
    ]
    return f"{seed}: {chance.choice(ways)(database, chance)}"


def flip_bytes(database: Path, chance: random.Random) -> str:
    content = bytearray(database.read_bytes())
    places = [chance.randrange(len(content)) for _ in range(chance.choice((1, 3, 30)))]
    for place in places:
        content[place] = chance.randrange(256)
    database.write_bytes(content)
    return f"bytes {places} flipped"


def cut_or_fill(database: Path, chance: random.Random) -> str:
    content = bytearray(database.read_bytes())
    at = chance.randrange(len(content))
    how = chance.choice(("cut", "zeros", "noise"))
    if how == "cut":
        del content[at:]
    else:
        end = min(len(content), at + 4096)
        content[at:end] = bytes(end - at) if how == "zeros" else chance.randbytes(end - at)
    database.write_bytes(content)
    return f"{how} at {at}"


def change_schema(database: Path, chance: random.Random) -> str:
    with opened(database) as connection:
        kind, name = chance.choice(
            connection.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        )
        statements = [f"DROP {kind} {name}"]
        if kind == "table":
            column = chance.choice(connection.execute(f"PRAGMA table_info({name})").fetchall())[1]
            statements += [
                f"ALTER TABLE {name} RENAME COLUMN {column} TO other",
                f"ALTER TABLE {name} ADD COLUMN other TEXT",
                f"ALTER TABLE {name} RENAME TO other",
                f"DROP TABLE {name}; CREATE VIEW {name} AS SELECT 1 AS {column}",
            ]
        statement = chance.choice(statements)
        with contextlib.suppress(sqlite3.Error):  # fails for columns that a view uses
            connection.executescript(statement)
        return statement


def delete_rows(database: Path, chance: random.Random) -> str:
    with opened(database) as connection:
        table = chance.choice(filled_tables(connection))
        how = chance.choice(("", "LIMIT 1"))
        connection.execute(f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY random() {how})")
        return f"rows of {table} deleted {how}"


def change_cell(database: Path, chance: random.Random) -> str:
    """Set any cell to any value. NOT NULL is lifted during the change, because flipped bytes can violate it, too."""
    with opened(database) as connection:
        table = chance.choice(filled_tables(connection))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column, value = chance.choice(columns), chance.choice(VALUES)
        which = chance.choice((f"rowid = (SELECT min(rowid) FROM {table})", f"rowid % {chance.randint(1, 5)} = 0"))
        new = "CAST(x'ff' AS TEXT)" if value == "" else "?"
        with loose_schema(connection, table), contextlib.suppress(sqlite3.IntegrityError):
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = {new} WHERE {which}", (value,)[: new == "?"])
        return f"{table}.{column} = {str(value)[:20]!r} where {which}"


def change_json(database: Path, chance: random.Random) -> str:
    with opened(database) as connection:
        filled = filled_tables(connection)
        columns = [("samples", "tags"), ("samples", "detail"), ("probes", "detail"), ("edits", "detail")]
        columns += [("asks", "detail"), ("asks", "probes"), *[("manifest", "value")] * 4]
        table, column = chance.choice([one for one in columns if one[0] in filled])
        rows = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE length({column}) > 2").fetchall()
        rowid, text = chance.choice(rows or connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        new = chance.choice(TEXTS) if chance.random() < 0.3 else json.dumps(change_leaf(json.loads(text), chance))
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, rowid))
        return f"{table}.{column} of {rowid} from {text[:60]} to {new[:60]}"


def change_leaf(value: Any, chance: random.Random) -> Any:
    """Return JSON with one part replaced or removed."""
    if isinstance(value, Mapping) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.2:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: change_leaf(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        at = chance.randrange(len(value))
        return [*value[:at], change_leaf(value[at], chance), *value[at + 1 :]]
    return chance.choice(LEAVES)


@contextlib.contextmanager
def opened(database: Path) -> Any:
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        yield connection


def filled_tables(connection: sqlite3.Connection) -> list[str]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [n for n in names if n != "subsets" and connection.execute(f"SELECT 1 FROM {n} LIMIT 1").fetchone()]


@contextlib.contextmanager
def loose_schema(connection: sqlite3.Connection, table: str) -> Any:
    query = "SELECT sql FROM sqlite_master WHERE name = ?"
    (sql,) = connection.execute(query, (table,)).fetchone()
    for text in (sql.replace(" NOT NULL", ""), sql):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (text, table))
        connection.execute("PRAGMA writable_schema = RESET")
        if text != sql or " NOT NULL" not in sql:
            yield
            if text == sql:
                return
