"""What a command found: sentences to quote, tables, and all of it for another program.

A table (`Grid`) is words and marks; a terminal or a page decides how they look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.report.text import visible

if TYPE_CHECKING:
    from rich.table import Table

BEST, SECOND, STRONG, FAINT, ASIDE = "best", "second", "strong", "faint", "aside"


class Spot(NamedTuple):
    """One place in a table: words, how they are marked, and what stands small below and beside
    them."""

    text: str
    below: str = ""
    mark: str = ""
    beside: str = ""


Row = list[str | Spot]


@dataclass(frozen=True)
class Grid:
    """A table. The first `left` columns are words, the others numbers; a rule is drawn before each
    row of `breaks`."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Spot]]
    title: str = ""
    caption: str = ""
    left: int = 1
    breaks: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Findings:
    """Everything that a command has to say; `data` is all of it, unrounded."""

    sentences: Sequence[str]
    grids: Sequence[Grid]
    data: dict[str, Any]
    notes: Sequence[str] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return {"sentences": list(self.sentences), **self.data}


_STYLES = {BEST: "bold", SECOND: "underline", STRONG: "bold", FAINT: "dim", ASIDE: "italic"}


def rich_table(grid: Grid) -> Table:
    """A table for a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    title = Text(visible(grid.title), "bold") if grid.title else None
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for at, head in enumerate(grid.heads):
        words = at < grid.left
        table.add_column(
            Text("\n".join(map(visible, head.split("\n")))),
            justify="left" if words else "right",
            overflow="fold",
            no_wrap=not words,
            min_width=min(12, max(len(spot(row[at]).text) for row in grid.rows))
            if words and grid.rows
            else None,
        )
    for number, row in enumerate(grid.rows):
        if number in grid.breaks:
            table.add_section()
        table.add_row(*(_rich_text(spot(cell)) for cell in row))
    if grid.caption:
        table.caption, table.caption_justify = Text(visible(grid.caption)), "left"
    return table


def _rich_text(spot: Spot) -> Any:
    from rich.text import Text

    text = Text(visible(spot.text), _STYLES.get(spot.mark, ""))
    text.append(visible(spot.beside), "dim")
    return text.append(f"\n{visible(spot.below)}", "dim") if spot.below else text


def spot(cell: str | Spot) -> Spot:
    """A cell with or without marks."""
    return cell if isinstance(cell, Spot) else Spot(cell)
