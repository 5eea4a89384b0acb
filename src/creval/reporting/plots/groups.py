"""Group by group: each model's value with its interval in each group of a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text, wrap_label
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_MODELS = 8
"""Models that can be told apart in a group."""
_PANELS = 4  # side by side
_MAX_HEIGHT = 8.0  # inches that a page has room for


@canvas.with_plot_style
def groups(
    card: Scorecard, level: str = "", *, metrics: Sequence[str] = (), about: str = "", max_models: int = MAX_MODELS
) -> Figure:
    """Dots with intervals, a row for each group of a level, a panel for each metric."""
    level = selection.resolve_level(card, level)
    rows = card.groups(level)
    columns = selection.columns_with_values(card, level, rows, metrics)
    models, left_out = selection.top_models(card, max_models)
    cells = [card.cell(n, c, g, level) for n in models for c in columns for g in rows]
    minus = card.table.schema.find_level(level).difference_of is not None
    pitch = min(0.125, max(0.075, _MAX_HEIGHT / (len(rows) * (len(models) + 1))))
    tall = max(len(rows) * pitch * (len(models) + 1), 0.5)
    blocks = math.ceil(len(columns) / _PANELS)
    made, body = canvas.make_figure(
        f"By {escape_plot_text(level)}: {', '.join(map(escape_plot_text, columns))}",
        f"{about}{left_out}Bars: 95 % intervals over samples. {canvas.hollow_note(cells)}Each panel has its own scale.",
        blocks * (tall + 0.8),
        entries=canvas.legend_entries(models),
        alt_text=selection.values_text(card, columns),
    )
    grid = body.subplots(blocks, min(_PANELS, len(columns)), squeeze=False)
    for at, axes in enumerate(grid.flat):
        if at >= len(columns):
            axes.set_visible(False)
            continue
        _draw_panel(axes, card, level, rows, columns[at], models, grid.shape[1])
        axes.set_yticks(range(len(rows)))
        first = at % _PANELS == 0
        axes.set_yticklabels([wrap_label(group, 20, 3) for group in rows] if first else [])
        axes.tick_params(axis="y", length=0, labelsize=canvas.SMALL_FONT)
        if minus:
            axes.axvline(0, color=canvas.FOREGROUND, linewidth=0.8, alpha=0.6)
    return made


def _draw_panel(
    axes: Any, card: Scorecard, level: str, rows: Sequence[str], column: str, models: Sequence[str], panels: int
) -> None:
    apart = 1 / (len(models) + 1)
    for row, group in enumerate(rows):
        if row % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, color=canvas.FOREGROUND, alpha=0.06, linewidth=0)
        for at, name in enumerate(models):
            cell = card.cell(name, column, group, level)
            if cell.value is not None:
                up = row + (at - (len(models) - 1) / 2) * apart
                canvas.draw_point(axes, cell.value, up, cell, canvas.series_style(at), markersize=4.2)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.06)
    axes.grid(axis="x")
    axes.set_title(selection.column_heading(card, column, level, panels), fontsize=canvas.SMALL_FONT, pad=5)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)
