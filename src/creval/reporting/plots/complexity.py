"""Complexity plot: each metric over the ordered groups of a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.core.errors import CrevalError
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text, model_labels, wrap_label
from creval.reporting.plots.published_marks import PublishedMarks, draw_published
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.analysis.published_scores import PublishedScores

DEFAULT_LEVEL = "complexity"
MAX_MODELS = 8
"""Largest number of lines that can be distinguished."""


@canvas.plot_style()
def complexity(
    card: Scorecard,
    level: str = "",
    *,
    metrics: Sequence[str] = (),
    about: str = "",
    max_models: int = MAX_MODELS,
    published: PublishedScores | None = None,
) -> Figure:
    """Draw a line per model over the groups of a level, with bands for intervals."""
    levels = [one.name for one in card.table.schema.levels]
    level = level or DEFAULT_LEVEL
    if level == DEFAULT_LEVEL and level not in levels:
        raise CrevalError(
            f"this run has no level `complexity`; only Complex-Edit has one. Its levels are {', '.join(levels)}. "
            "`creval plot RUN groups` draws any level."
        )
    level = selection.resolve_level(card, level, min_groups=2)
    steps = card.groups(level)
    columns = selection.columns_with_values(card, level, steps, metrics)
    models, left_out = selection.top_models(card, max_models)
    cells = [card.cell(n, c, g, level) for n in models for c in columns for g in steps]
    across = min(2, len(columns))
    marks = PublishedMarks(published, card, [(level, group) for group in steps]) if published is not None else None
    made, body = canvas.make_figure(
        f"{', '.join(map(escape_plot_text, columns))} by {escape_plot_text(level)}",
        f"{about}{left_out}Bands: 95 % intervals over samples. {canvas.hollow_note(cells)}"
        f"{marks.note if marks is not None else ''}Each panel has its own scale.",
        math.ceil(len(columns) / across) * 2.5,
        entries=canvas.legend_entries(model_labels(models, 34).values(), lines=True),
        alt_text=selection.values_text(card, columns),
    )
    for at, axes in enumerate(canvas.iter_panels(body, len(columns), across)):
        _draw_panel(axes, card, level, steps, columns[at], models, marks)
        axes.set_title(selection.column_heading(card, columns[at], panels=across).replace("\n", " "))
        if at + across >= len(columns):
            axes.set_xlabel(escape_plot_text(level))
    return made


def _draw_panel(
    axes: Any,
    card: Scorecard,
    level: str,
    steps: Sequence[str],
    column: str,
    models: Sequence[str],
    marks: PublishedMarks | None,
) -> None:
    for at, name in enumerate(models):
        colour, mark, dash, size, line = canvas.series_style(at)
        cells = [card.cell(name, column, group, level) for group in steps]
        value, low, high = (
            [math.nan if (end := getattr(cell, what)) is None else end for cell in cells]
            for what in ("value", "low", "high")
        )
        axes.fill_between(range(len(steps)), low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(range(len(steps)), value, color=colour, linestyle=dash, linewidth=line, zorder=2)
        for sure in (True, False):
            places = [n for n, cell in enumerate(cells) if (cell.low is not None) == sure]
            axes.plot(
                places,
                [value[n] for n in places],
                linestyle="",
                marker=mark,
                markersize=0.8 * size,
                markeredgecolor=colour,
                markerfacecolor=colour if sure else "none",
                zorder=3,
            )
        for place, group in enumerate(steps):
            printed = marks.value(name, level, group, column) if marks is not None else None
            if printed is not None:
                draw_published(axes, place, printed, colour)
    axes.set_xticks(range(len(steps)), [wrap_label(group, 12, 2) for group in steps])
    axes.grid(axis="y")
