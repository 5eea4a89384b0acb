"""Group by group: each model's value with its interval in each group of a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.report.plots import canvas, selection
from creval.report.plots.names import harmless, wrapped
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""Models that can be told apart in a group."""
_PANELS = 4  # side by side
_TALL = 8.0  # inches that a page has room for


@canvas.styled
def groups(
    card: Scorecard,
    level: str = "",
    *,
    metrics: Sequence[str] = (),
    about: str = "",
    most: int = MOST,
) -> Figure:
    """Dots with intervals, a row for each group of a level, a panel for each metric."""
    level = selection.finest(card, level)
    rows = card.groups(level)
    columns = selection.there(card, level, rows, metrics)
    systems, left_out = selection.chosen(card, most)
    cells = [card.cell(n, c, g, level) for n in systems for c in columns for g in rows]
    minus = card.table.card.level(level).minus is not None
    pitch = min(0.125, max(0.075, _TALL / (len(rows) * (len(systems) + 1))))
    tall = max(len(rows) * pitch * (len(systems) + 1), 0.5)
    blocks = math.ceil(len(columns) / _PANELS)
    made, body = canvas.sheet(
        f"By {harmless(level)}: {', '.join(map(harmless, columns))}",
        f"{about}{left_out}Bars: 95 % intervals over samples. {canvas.hollow(cells)}"
        "Each panel has its own scale.",
        blocks * (tall + 0.8),
        entries=canvas.key(systems),
        told=selection.told(card, columns),
    )
    grid = body.subplots(blocks, min(_PANELS, len(columns)), squeeze=False)
    for at, axes in enumerate(grid.flat):
        if at >= len(columns):
            axes.set_visible(False)
            continue
        _panel(axes, card, level, rows, columns[at], systems, grid.shape[1])
        axes.set_yticks(range(len(rows)))
        first = at % _PANELS == 0
        axes.set_yticklabels([wrapped(group, 20, 3) for group in rows] if first else [])
        axes.tick_params(axis="y", length=0, labelsize=canvas.SMALL)
        if minus:
            axes.axvline(0, color=canvas.INK, linewidth=0.8, alpha=0.6)
    return made


def _panel(
    axes: Any,
    card: Scorecard,
    level: str,
    rows: Sequence[str],
    column: str,
    systems: Sequence[str],
    panels: int,
) -> None:
    apart = 1 / (len(systems) + 1)
    for row, group in enumerate(rows):
        if row % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, color=canvas.INK, alpha=0.06, linewidth=0)
        for at, name in enumerate(systems):
            cell = card.cell(name, column, group, level)
            if cell.value is not None:
                up = row + (at - (len(systems) - 1) / 2) * apart
                canvas.dot(axes, cell.value, up, cell, canvas.look(at), markersize=4.2)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.06)
    axes.grid(axis="x")
    axes.set_title(selection.heading(card, column, level, panels), fontsize=canvas.SMALL, pad=5)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)
