"""Group plot: each model's value with its interval in each group of a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text, model_labels, wrap_label
from creval.reporting.plots.published_marks import PublishedMarks, draw_published
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.analysis.published_scores import PublishedScores

MAX_MODELS = 8
"""Largest number of models that can be distinguished in a group."""
_PANELS = 4  # side by side
_MAX_HEIGHT = 8.0  # inches, to fit a page


@canvas.plot_style()
def groups(
    card: Scorecard,
    level: str = "",
    *,
    metrics: Sequence[str] = (),
    about: str = "",
    max_models: int = MAX_MODELS,
    published: PublishedScores | None = None,
) -> Figure:
    """Draw dots with intervals, with a row per group of a level and a panel per metric."""
    level = selection.resolve_level(card, level)
    rows = card.groups(level)
    columns = selection.columns_with_values(card, level, rows, metrics)
    models, left_out = selection.top_models(card, max_models)
    cells = [card.cell(n, c, g, level) for n in models for c in columns for g in rows]
    minus = card.table.schema.find_level(level).difference_of is not None
    pitch = min(0.125, max(0.075, _MAX_HEIGHT / (len(rows) * (len(models) + 1))))
    tall = max(len(rows) * pitch * (len(models) + 1), 0.5)
    marks = PublishedMarks(published, card, [(level, group) for group in rows]) if published is not None else None
    made, body = canvas.make_figure(
        f"By {escape_plot_text(level)}: {', '.join(map(escape_plot_text, columns))}",
        f"{about}{left_out}Bars: 95 % intervals over samples. {canvas.hollow_note(cells)}"
        f"{marks.note if marks is not None else ''}Each panel has its own scale.",
        math.ceil(len(columns) / _PANELS) * (tall + 0.8),
        entries=canvas.legend_entries(model_labels(models, 34).values()),
        alt_text=selection.values_text(card, columns),
    )
    labels, panels = [wrap_label(group, 20, 3) for group in rows], min(_PANELS, len(columns))
    for at, axes in enumerate(canvas.iter_panels(body, len(columns), _PANELS)):
        _draw_values(axes, card, level, rows, columns[at], models, marks)
        heading = selection.column_heading(card, columns[at], level, panels)
        canvas.style_rows(axes, labels, heading, first=at % _PANELS == 0, top=-0.5, margin=0.06)
        if minus:
            axes.axvline(0, color=canvas.FOREGROUND, linewidth=0.8, alpha=0.6)
    return made


def _draw_values(
    axes: Any,
    card: Scorecard,
    level: str,
    rows: Sequence[str],
    column: str,
    models: Sequence[str],
    marks: PublishedMarks | None,
) -> None:
    apart = 1 / (len(models) + 1)
    for row, group in enumerate(rows):
        if row % 2 == 0:
            axes.axhspan(row - 0.5, row + 0.5, color=canvas.FOREGROUND, alpha=0.06, linewidth=0)
        for at, name in enumerate(models):
            cell = card.cell(name, column, group, level)
            if cell.value is not None:
                up = row + (at - (len(models) - 1) / 2) * apart
                style = canvas.series_style(at)
                canvas.draw_point(axes, cell.value, up, style, 4.2, across=cell, elinewidth=1.2, capsize=3)
                value = marks.value(name, level, group, column) if marks is not None else None
                if value is not None:
                    draw_published(axes, value, up, style.colour)
