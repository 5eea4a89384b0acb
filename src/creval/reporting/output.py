"""Output of a command: sentences to quote, tables, notes, and JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.core.formatting import escape_control

if TYPE_CHECKING:
    from rich.table import Table

VALUES_ONLY = "Values only: intervals and coverage are left out."
BEST, SECOND, STRONG, FAINT, ITALIC = "best", "second", "strong", "faint", "aside"


class TableCell(NamedTuple):
    """A table cell: its text, and small print below and beside it.

    `mark` sets the style, such as best, second best or faint.
    """

    text: str
    below: str = ""
    mark: str = ""
    beside: str = ""


Row = list[str | TableCell]


@dataclass(frozen=True)
class OutputTable:
    """A table: text columns first, then numbers. A rule is drawn before each row of `section_starts`."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str | TableCell]]
    title: str = ""
    caption: str = ""
    text_columns: int = 1
    section_starts: frozenset[int] = frozenset()


@dataclass(frozen=True)
class CommandOutput:
    """Complete output of a command. `data` holds all numbers, unrounded."""

    sentences: Sequence[str]
    tables: Sequence[OutputTable]
    data: dict[str, Any]
    notes: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        return {"sentences": list(self.sentences), **self.data}


def strip_to_values(table: OutputTable) -> OutputTable:
    """Return a table without intervals, coverage and ranks, with a note that they are left out."""
    rows = [[as_table_cell(cell)._replace(below="", beside="") for cell in row] for row in table.rows]
    return replace(table, rows=rows, caption=VALUES_ONLY)


def split_to_width(table: OutputTable, width: int) -> list[OutputTable]:
    """Split a table into tables that fit a terminal of this width. Each repeats the text columns."""
    wide = [_column_width(table, at) + _MARGIN for at in range(len(table.headers))]
    words, numbers = sum(wide[: table.text_columns]), sum(wide[table.text_columns :])
    if numbers + min(words, max(width // 4, _MIN_TEXT_WIDTH * table.text_columns)) <= width:
        return [table]
    room = width - min(words, max(width // 2, _MIN_TEXT_WIDTH * table.text_columns))
    parts: list[list[int]] = [[]]
    for at in range(table.text_columns, len(wide)):
        if parts[-1] and sum(wide[n] for n in parts[-1]) + wide[at] > room:
            parts.append([])
        parts[-1].append(at)
    found = [replace(select_columns(table, [*range(table.text_columns), *part]), caption="") for part in parts]
    return [*found[:-1], replace(found[-1], caption=table.caption)]


def select_columns(table: OutputTable, columns: Sequence[int]) -> OutputTable:
    """Return the table with these columns only."""
    rows = [[row[at] for at in columns] for row in table.rows]
    return replace(table, headers=[table.headers[at] for at in columns], rows=rows)


def _column_width(table: OutputTable, column: int) -> int:
    """Return the width of a column without wrapping."""
    from rich.cells import cell_len

    spots = [as_table_cell(row[column]) for row in table.rows]
    lines = [line for one in spots for line in (f"{one.text}{one.beside}", one.below)]
    return max(cell_len(escape_control(line)) for line in (*table.headers[column].split("\n"), *lines))


_MARGIN = 3  # characters between columns
_MIN_TEXT_WIDTH = 12  # characters of a text column
_STYLES = {BEST: "bold", SECOND: "underline", STRONG: "bold", FAINT: "dim", ITALIC: "italic"}


def rich_table(output_table: OutputTable) -> Table:
    """Return the table as a rich table for a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    title = Text(escape_control(output_table.title), "bold") if output_table.title else None
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(output_table.headers):
        words = at < output_table.text_columns
        table.add_column(
            Text("\n".join(map(escape_control, head.split("\n")))),
            justify="left" if words else "right",
            overflow="fold",
            no_wrap=not words,
            min_width=min(_MIN_TEXT_WIDTH, _column_width(output_table, at)) if words else None,
        )
    for number, row in enumerate(output_table.rows):
        if number in output_table.section_starts:
            table.add_section()
        table.add_row(*(_rich_text(as_table_cell(cell)) for cell in row))
    if output_table.caption:
        table.caption, table.caption_justify = Text(escape_control(output_table.caption)), "left"
    return table


def _rich_text(cell: TableCell) -> Any:
    from rich.text import Text

    text = Text(escape_control(cell.text), _STYLES.get(cell.mark, ""))
    text.append(escape_control(cell.beside), "dim")
    return text.append(f"\n{escape_control(cell.below)}", "dim") if cell.below else text


def as_table_cell(cell: str | TableCell) -> TableCell:
    """Return a cell as a `TableCell`. Plain text is converted."""
    return cell if isinstance(cell, TableCell) else TableCell(cell)
