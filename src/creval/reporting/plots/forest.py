"""Forest plot: each model's value with its interval, and models without significant differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from creval.core.formatting import format_value
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.reporting.plots.published_marks import PublishedMarks, draw_published, published_label
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.analysis.published_scores import PublishedScores

_ROW_HEIGHT = 0.36  # inches of a model
_PANELS = 4  # side by side


@canvas.plot_style()
def forest(
    card: Scorecard, *, metrics: Sequence[str] = (), about: str = "", published: PublishedScores | None = None
) -> Figure:
    """Draw a row per model, best first, and a panel per metric. Bars join models without significant differences.

    Models that have only published numbers follow below a line, in the paper's order.
    """
    columns = selection.columns_with_values(card, "overall", ["overall"], metrics)
    rank = card.table.schema.ranking_column
    rows = -(-len(columns) // _PANELS)
    cells = [card.cell(name, column) for name in card.models for column in columns]
    joined = [group for group in card.indistinguishable if len(group) > 1 and columns[0] == rank]
    several = ""
    if len(card.models) > 1 and columns[0] == rank:
        bar = f"Bars beside {escape_plot_text(rank)} join models without significant differences"
        several = bar if joined else f"All differences in {escape_plot_text(rank)} are significant"
        several += " (paired sign-flip test at the 5 % level, Holm-corrected). "
    marks = PublishedMarks(published, card, [("overall", "overall")]) if published is not None else None
    others = marks.others if marks is not None else []
    made, body = canvas.make_figure(
        f"Models with intervals, ordered by {escape_plot_text(rank)}",
        f"{about}Bars through values: 95 % intervals over samples. {several}{canvas.hollow_note(cells)}"
        f"{marks.note if marks is not None else ''}"
        "Each panel has its own scale.",
        rows * ((len(card.models) + len(others)) * _ROW_HEIGHT + 0.85),
        alt_text=selection.values_text(card, columns),
    )
    shown = [*model_labels(card.models, 22, 2).values(), *map(published_label, others)]
    panels = min(_PANELS, len(columns))
    for at, axes in enumerate(canvas.iter_panels(body, len(columns), _PANELS)):
        draw_values(axes, card, columns[at], card.models)
        if marks is not None:
            _draw_published(axes, card, columns[at], marks)
        heading = selection.column_heading(card, columns[at], panels=panels)
        canvas.style_rows(axes, shown, heading, first=at % _PANELS == 0, top=-0.75, margin=0.16)
        if at == 0:
            _draw_ties(axes, card, joined)
    return made


def draw_values(
    axes: Any, card: Scorecard, column: str, models: Sequence[str], ranks: Mapping[str, int] | None = None
) -> None:
    """Draw a row for each model: its value, its interval and, if given, its rank."""
    digits = card.table.schema.find_metric(column).digits
    for row, name in enumerate(models):
        cell = card.cell(name, column) if name in card.table.models else None
        if cell is None or cell.value is None:
            axes.annotate(
                "no value",
                (0.5, row),
                xycoords=("axes fraction", "data"),
                ha="center",
                va="center",
                fontsize=canvas.SMALL_FONT,
                alpha=0.75,
            )
            continue
        style = canvas.series_style(row)._replace(marker="o")
        canvas.draw_point(axes, cell.value, row, style, 4.0, across=cell, elinewidth=1.2, capsize=3)
        axes.annotate(
            format_value(cell.value, digits) + (f"  ({ranks[name]})" if ranks else ""),
            (cell.value, row),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=canvas.SMALL_FONT,
        )


def _draw_published(axes: Any, card: Scorecard, column: str, marks: PublishedMarks) -> None:
    """Draw published values in the rows of the run's models, and those of other models below a line."""
    rows = [*(marks.own.get(name) for name in card.models), *marks.others]
    place = ("overall", "overall", column)
    for row, series in enumerate(rows):
        if series is None or place not in series.values:
            continue
        value = series.values[place]
        draw_published(axes, value.value, row)
        if row >= len(card.models):
            words = {"textcoords": "offset points", "ha": "center", "fontsize": canvas.SMALL_FONT, "style": "italic"}
            axes.annotate(value.text, (value.value, row), (0, 6), **words)
    if marks.others:
        line = len(card.models) - 0.5
        axes.axhline(line, color=canvas.FOREGROUND, linewidth=0.7, alpha=0.6, linestyle=(0, (4, 3)))


def _draw_ties(axes: Any, card: Scorecard, joined: list[tuple[str, ...]]) -> None:
    """Draw a bar beside the panel for each group of models without significant differences.

    Bars that overlap are drawn next to each other.
    """
    place = {name: at for at, name in enumerate(card.models)}
    ends: list[int] = []
    for group in joined:
        first, last = place[group[0]], place[group[-1]]
        lane = next((at for at, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        axes.plot(
            [1.03 + 0.05 * lane] * 2,
            [first - 0.25, last + 0.25],
            color=canvas.FOREGROUND,
            linewidth=2.2,
            transform=axes.get_yaxis_transform(),
            clip_on=False,
            solid_capstyle="butt",
        )
