"""What a command found: sentences to quote, tables, and all of it for another program.

A table (`Grid`) is words and marks; a terminal or a page decides how they look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.core.formatting import visible

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


def fitting(grid: Grid, width: int) -> list[Grid]:
    """The same in as many tables as its numbers need in a terminal of this width: in one that is
    too narrow they would be cut. Each begins with the words, which wrap instead."""
    wide = [_width(grid, at) + _MARGIN for at in range(len(grid.heads))]
    words, numbers = sum(wide[: grid.left]), sum(wide[grid.left :])
    if numbers + min(words, max(width // 4, _NARROWEST * grid.left)) <= width:
        return [grid]
    room = width - min(words, max(width // 2, _NARROWEST * grid.left))
    parts: list[list[int]] = [[]]
    for at in range(grid.left, len(wide)):
        if parts[-1] and sum(wide[n] for n in parts[-1]) + wide[at] > room:
            parts.append([])
        parts[-1].append(at)
    shown = [[*range(grid.left), *part] for part in parts]
    found = [
        replace(
            grid,
            heads=[grid.heads[at] for at in part],
            rows=[[row[at] for at in part] for row in grid.rows],
            caption="",
        )
        for part in shown
    ]
    return [*found[:-1], replace(found[-1], caption=grid.caption)]


def _width(grid: Grid, at: int) -> int:
    """How wide a column is that wraps nothing."""
    from rich.cells import cell_len

    spots = [spot(row[at]) for row in grid.rows]
    lines = [line for one in spots for line in (f"{one.text}{one.beside}", one.below)]
    return max(cell_len(visible(line)) for line in (*grid.heads[at].split("\n"), *lines))


_MARGIN = 3  # characters between columns
_NARROWEST = 12  # characters of a column of words
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
            min_width=min(_NARROWEST, _width(grid, at)) if words else None,
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
