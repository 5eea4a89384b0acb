"""Reads users' tables: CSV from any spreadsheet, or JSONL. An invalid row does not affect the other rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.errors import CrevalError
from creval.core.files import parse_json, read_bytes, replace_lone_surrogates

MAX_TABLE_BYTES = 64 << 20
MAX_COLUMNS = 200
MAX_TABLE_LINES = 1_000_000
_SEPARATOR_LINE = re.compile(r"sep=([,;\t])\r?\n", re.IGNORECASE)
_ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""Encodings other than UTF-8 that spreadsheets use, by byte order mark."""


class TableRow(NamedTuple):
    """A row of a table: its line number, its non-empty cells by column, and its problem if it is invalid."""

    line: int
    cells: Mapping[str, Any]
    problem: str = ""


def read_table(path: Path) -> list[TableRow]:
    """Return the non-empty rows of a CSV file (comma, semicolon or tab) or of a JSONL file.

    Column names are returned in lower case, with underscores for white space. A CSV cell is text without surrounding
    white space; a JSONL cell is any JSON value.
    """
    content = _read_content(path)
    if path.suffix.casefold() in (".jsonl", ".ndjson"):
        return list(_parse_json_lines(content))
    return list(_parse_csv(path, content))


def column_name(name: str) -> str:
    """Return the normalised name of a column.

    >>> column_name(" Time  of Day")
    'time_of_day'
    """
    return "_".join(replace_lone_surrogates(name).casefold().split())


def _read_content(path: Path) -> bytes:
    try:
        content = read_bytes(path, MAX_TABLE_BYTES)
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    if max(map(content.count, (b"\n", b"\r"))) > MAX_TABLE_LINES:
        raise CrevalError(f"{path} has more than {MAX_TABLE_LINES:,} lines, the limit for a table.")
    return content


def _parse_json_lines(content: bytes) -> Iterator[TableRow]:
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        entry, problem = parse_json_line(line)
        cells = {column_name(name): value for name, value in entry.items() if value not in (None, "", [], {})}
        if len(cells) > MAX_COLUMNS:
            yield TableRow(number, {}, f"it has more than {MAX_COLUMNS} fields")
        elif cells or problem:
            yield TableRow(number, cells, problem)


def parse_json_line(line: bytes) -> tuple[dict[str, Any], str]:
    """Return the JSON object in a line and "", or {} and the problem of the line."""
    try:
        found = parse_json(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, f"it is not valid JSON ({replace_lone_surrogates(str(error))[:200]})"
    return (found, "") if isinstance(found, dict) else ({}, "it is not a JSON object")


def _parse_csv(path: Path, content: bytes) -> Iterator[TableRow]:
    encoding = _ENCODINGS.get(content[:2], "utf-8-sig")
    text = content.decode(encoding, "surrogateescape" if encoding == "utf-8-sig" else "replace")
    skipped = 0
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    if declared := _SEPARATOR_LINE.match(text):
        separator, text, skipped = declared[1], text[declared.end() :], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
    names = _parse_head(path, reader)
    while True:
        begin = reader.line_num + skipped + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield TableRow(
                begin, {}, f"it is not valid CSV ({error}): close every quotation mark, and double inner ones"
            )
            continue
        filled = {name: stripped for name, cell in zip(names, cells, strict=False) if (stripped := cell.strip())}
        if problem := _row_problem(names, cells, filled):
            yield TableRow(begin, {}, problem)
        elif filled:
            yield TableRow(begin, filled)


def _parse_head(path: Path, reader: Iterator[list[str]]) -> list[str]:
    try:
        names = [column_name(name) for name in next(reader, [])]
    except csv.Error as error:
        raise CrevalError(f"{path}, line 1, cannot be read as CSV: {error}.") from error
    named = [name for name in names if name]
    if len(names) > MAX_COLUMNS:
        raise CrevalError(f"{path} has {len(names):,} columns; at most {MAX_COLUMNS} are allowed.")
    if len(set(named)) < len(named):
        twice = next(name for at, name in enumerate(named) if name in named[:at])
        raise CrevalError(f"{path} has two columns named {twice!r}.")
    return names


def _row_problem(names: Sequence[str], cells: Sequence[str], filled: Mapping[str, str]) -> str:
    if any(cell.strip() for cell in cells[len(names) :]):
        return (
            f"it has {len(cells)} cells, but the first line names {len(names)} columns: put a text that contains the "
            "separator into quotation marks"
        )
    if "" in filled:
        return "it has a value in a column without a name"
    for cell in filled.values():
        if "\0" in cell:
            return "it contains a NUL character"
        if not cell.isascii() and any("\ud800" <= char <= "\udfff" for char in cell):
            return "it is not in UTF-8: save the table as CSV UTF-8"
    return ""
