"""Following against keeping: who does what was asked, and who leaves the rest alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creval.core.errors import CrevalError, require_known
from creval.core.schema import Metric
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.label_placement import LabelledPoint, place_labels
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.stats.scorecard import Scorecard, ScoreEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_CONSISTENCY_METRICS = ("VC", "IP")


def consistency_column(card: Scorecard) -> str:
    """The column that says how much was kept."""
    found = next((name for name in _CONSISTENCY_METRICS if name in card.table.schema.columns), None)
    if found is None or "IF" not in card.table.schema.columns:
        raise CrevalError(
            "the plane sets instruction following (IF) against what was kept (VC or IP), and these "
            f"scores are {', '.join(card.table.schema.columns)}: `creval plot RUN forest` draws them."
        )
    return found


@canvas.with_plot_style
def plane(card: Scorecard, following: str = "IF", consistency: str = "", *, about: str = "") -> Figure:
    """How far each model follows instructions, and how much it keeps, with their intervals."""
    consistency = consistency or consistency_column(card)
    for column in (following, consistency):
        require_known("metric", column, card.table.schema.columns)
    cells = {name: (card.cell(name, following), card.cell(name, consistency)) for name in card.models}
    drawn = {n: two for n, two in cells.items() if two[0].value is not None is not two[1].value}
    if not drawn:
        raise CrevalError(f"no model has both {following} and {consistency} yet, so there is no point.")
    missing = [name for name in cells if name not in drawn]
    absent = f"Without a value, so not shown: {', '.join(model_labels(missing).values())}. "
    made, body = canvas.make_figure(
        f"{escape_plot_text(following)} and {escape_plot_text(consistency)} of each model",
        f"{about}Bars: 95 % intervals over samples. "
        f"{canvas.hollow_note(cell for two in drawn.values() for cell in two)}"
        f"{absent if missing else ''}Axes may show a part of their range.",
        4.6,
        alt_text=selection.values_text(card, (following, consistency)),
        width=6.2,
    )
    axes = body.add_subplot()
    spots = []
    shown = model_labels(drawn, 22, 2)
    for at, name in enumerate(card.models):
        if name in drawn:
            spots.append(_draw_model(axes, *drawn[name], canvas.series_style(at), shown[name]))
    metrics = [card.table.schema.find_metric(column) for column in (following, consistency)]
    axes.set_xlabel(_axis_label(metrics[0], following))
    axes.set_ylabel(_axis_label(metrics[1], consistency))
    axes.margins(0.14)
    _clip_axes(axes, *metrics)
    axes.grid()
    alike = (metrics[0].low, metrics[0].high) == (metrics[1].low, metrics[1].high)
    ends = _diagonal_range(axes, metrics[0]) if alike else None
    if ends is None:
        place_labels(made, axes, spots)
    else:
        words = _draw_diagonal(axes, ends, f"{escape_plot_text(following)} = {escape_plot_text(consistency)}")
        place_labels(made, axes, spots, avoid=[words], lines=[(ends[0], ends[0], ends[1], ends[1])])
    return made


def _axis_label(metric: Metric, column: str) -> str:
    return f"{escape_plot_text(metric.label)} ({escape_plot_text(column)}, {selection.format_metric_scale(metric)})"


def _draw_model(
    axes: Axes, across: ScoreEstimate, up: ScoreEstimate, series: canvas.SeriesStyle, name: str
) -> LabelledPoint:
    x, y = across.value or 0.0, up.value or 0.0
    ends = canvas.error_bar(across), canvas.error_bar(up)
    axes.errorbar(x, y, xerr=ends[0], yerr=ends[1], fmt="none", ecolor=series.colour, elinewidth=1.1, capsize=2.5)
    axes.plot(
        x,
        y,
        marker=series.marker,
        linestyle="",
        markersize=1.2 * series.size,
        markeredgecolor=series.colour,
        markerfacecolor="none" if None in ends else series.colour,
    )
    bars = []
    if across.low is not None and across.high is not None:
        bars.append((across.low, y, across.high, y))
    if up.low is not None and up.high is not None:
        bars.append((x, up.low, x, up.high))
    return LabelledPoint(x, y, name, bars)


def _clip_axes(axes: Axes, across: Metric, up: Metric) -> None:
    """Let axes end a little outside the metrics' ranges at most."""
    for metric, limits, limit in ((across, axes.get_xlim(), axes.set_xlim), (up, axes.get_ylim(), axes.set_ylim)):
        more = 0.05 * (metric.high - metric.low)
        limit(max(limits[0], metric.low - more), min(limits[1], metric.high + more))


def _diagonal_range(axes: Axes, metric: Metric) -> tuple[float, float] | None:
    """From where to where both are the same, if that can be seen."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    start, end = max(left, low, metric.low), min(right, high, metric.high)
    return (start, end) if end - start >= 0.15 * (right - left) else None


def _draw_diagonal(axes: Axes, ends: tuple[float, float], words: str) -> Text:
    """A dashed line where both are the same; its name stands where it begins."""
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    axes.plot(ends, ends, color=canvas.FOREGROUND, linewidth=0.8, alpha=0.5, linestyle=(0, (4, 3)), zorder=0)
    return axes.text(
        ends[0],
        ends[0],
        f"   {words}",
        ha="left",
        va="bottom",
        fontsize=canvas.SMALL_FONT,
        alpha=0.75,
        rotation=45,
        rotation_mode="anchor",
        transform_rotates_text=True,
        in_layout=False,
    )
