"""How sure: every model's value with its interval, and who cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.core.formatting import value
from creval.report.plots import canvas, selection
from creval.report.plots.names import harmless, names
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.36  # inches of a model
_PANELS = 4  # side by side


@canvas.styled
def forest(card: Scorecard, *, metrics: Sequence[str] = (), about: str = "") -> Figure:
    """A row a model, best first, a panel for each column; the one that ranks comes first.

    A bar beside it joins models of whom no two can be told apart.
    """
    columns = selection.there(card, "overall", ["overall"], metrics)
    rank = card.table.card.ranking
    rows = -(-len(columns) // _PANELS)
    cells = [card.cell(name, column) for name in card.systems for column in columns]
    joined = [group for group in card.alike if len(group) > 1 and columns[0] == rank]
    several = (
        f"A bar beside {harmless(rank)} joins models of whom no two can be told apart (paired "
        "sign-flip test at 5 %, corrected after Holm). " if joined else
        f"All models can be told apart in {harmless(rank)} (paired sign-flip test at 5 %, "
        "corrected after Holm). " if len(card.systems) > 1 and columns[0] == rank else ""
    )  # fmt: skip
    made, body = canvas.sheet(
        f"Every model with its interval, ordered by {harmless(rank)}",
        f"{about}Bars through values: 95 % intervals over samples. {several}{canvas.hollow(cells)}"
        "Each panel has its own scale.",
        rows * (len(card.systems) * _ROW + 0.85),
        told=selection.told(card, columns),
    )
    shown = names(card.systems, 22, 2)
    grid = body.subplots(rows, min(_PANELS, len(columns)), squeeze=False)
    for at, axes in enumerate(grid.flat):
        if at >= len(columns):
            axes.set_visible(False)
            continue
        _panel(axes, card, columns[at], grid.shape[1])
        axes.set_yticks(range(len(card.systems)))
        first = at % _PANELS == 0
        axes.set_yticklabels([shown[name] for name in card.systems] if first else [])
        axes.tick_params(axis="y", length=0, labelsize=canvas.SMALL)
        if at == 0:
            _join(axes, card, joined)
    return made


def _panel(axes: Any, card: Scorecard, column: str, panels: int) -> None:
    digits = card.table.card.metric(column).digits
    for row, name in enumerate(card.systems):
        cell = card.cell(name, column)
        if cell.value is None:
            axes.annotate("no value", (0.5, row), xycoords=("axes fraction", "data"), ha="center",
                          va="center", fontsize=canvas.SMALL, alpha=0.75)  # fmt: skip
            continue
        canvas.dot(axes, cell.value, row, cell, canvas.look(row)._replace(mark="o"),
                   markersize=4.0)  # fmt: skip
        axes.annotate(value(cell.value, digits), (cell.value, row), (0, 5),
                      textcoords="offset points", ha="center", fontsize=canvas.SMALL)  # fmt: skip
    axes.set_ylim(len(card.systems) - 0.5, -0.75)
    axes.margins(x=0.16)
    axes.grid(axis="x")
    axes.set_title(selection.heading(card, column, panels=panels), fontsize=canvas.SMALL, pad=5)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)


def _join(axes: Any, card: Scorecard, joined: list[tuple[str, ...]]) -> None:
    """Bars outside the panel; those that overlap stand beside each other."""
    place = {name: at for at, name in enumerate(card.systems)}
    ends: list[int] = []
    for group in joined:
        first, last = place[group[0]], place[group[-1]]
        lane = next((at for at, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        axes.plot(
            [1.03 + 0.05 * lane] * 2, [first - 0.25, last + 0.25], color=canvas.INK, linewidth=2.2,
            transform=axes.get_yaxis_transform(), clip_on=False, solid_capstyle="butt",
        )  # fmt: skip
