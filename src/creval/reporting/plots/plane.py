"""Plane plot: two metrics against each other, by default instruction following and consistency."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError, require_known
from creval.core.schema import Metric
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.label_placement import LabelledPoint, draw_labelled_point, place_labels
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.reporting.plots.published_marks import PublishedMarks, draw_published, published_label
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from creval.analysis.published_scores import PublishedScores

_CONSISTENCY_METRICS = ("VC", "IP")


def consistency_column(card: Scorecard) -> str:
    """Return the name of the consistency metric, or raise an error if there is none."""
    found = next((name for name in _CONSISTENCY_METRICS if name in card.table.schema.columns), None)
    if found is None or "IF" not in card.table.schema.columns:
        raise CrevalError(
            "this plot draws IF (instruction following) and VC or IP (consistency), or two given `metrics`. "
            f"This run has {', '.join(card.table.schema.columns)}."
        )
    return found


@canvas.plot_style()
def plane(
    card: Scorecard,
    following: str = "IF",
    consistency: str = "",
    *,
    about: str = "",
    published: PublishedScores | None = None,
) -> Figure:
    """Draw a point for each model over two metrics, with intervals.

    The default metrics are instruction following and consistency.
    """
    consistency = consistency or consistency_column(card)
    for column in (following, consistency):
        require_known("metric", column, card.table.schema.columns)
    cells = {name: (card.cell(name, following), card.cell(name, consistency)) for name in card.models}
    drawn = {n: two for n, two in cells.items() if two[0].value is not None is not two[1].value}
    if not drawn:
        raise CrevalError(f"no model has both {following} and {consistency} yet, so there is nothing to draw.")
    missing = [name for name in cells if name not in drawn]
    absent = f"Not shown, without a value: {', '.join(model_labels(missing).values())}. "
    marks = PublishedMarks(published, card, [("overall", "overall")]) if published is not None else None
    made, body = canvas.make_figure(
        f"{escape_plot_text(following)} and {escape_plot_text(consistency)} of each model",
        f"{about}Bars: 95 % intervals over samples. "
        f"{canvas.hollow_note(cell for two in drawn.values() for cell in two)}"
        f"{absent if missing else ''}"
        f"{marks.note if marks is not None else ''}Axes may show only a part of their range.",
        4.6,
        alt_text=selection.values_text(card, (following, consistency)),
        width=6.2,
    )
    axes = body.add_subplot()
    shown = model_labels(drawn, 22, 2)
    spots = [
        draw_labelled_point(axes, *drawn[name], canvas.series_style(at), shown[name])
        for at, name in enumerate(card.models)
        if name in drawn
    ]
    if marks is not None:
        spots += _draw_published(axes, card, drawn, marks, (following, consistency))
    metrics = [card.table.schema.find_metric(column) for column in (following, consistency)]
    axes.set_xlabel(selection.axis_label(metrics[0], following))
    axes.set_ylabel(selection.axis_label(metrics[1], consistency))
    axes.margins(0.14)
    limits = axes.get_xlim(), axes.get_ylim()
    axes.set_xlim(selection.clip_to_range(limits[0], metrics[0]))
    axes.set_ylim(selection.clip_to_range(limits[1], metrics[1]))
    axes.grid()
    alike = all(getattr(metrics[0], of) == getattr(metrics[1], of) for of in ("low", "high", "higher_is_better"))
    ends = _diagonal_range(axes, metrics[0]) if alike else None
    if ends is None:
        place_labels(made, axes, spots)
    else:
        words = _draw_diagonal(axes, ends, f"{escape_plot_text(following)} = {escape_plot_text(consistency)}")
        place_labels(made, axes, spots, avoid=[words], lines=[(ends[0], ends[0], ends[1], ends[1])])
    return made


def _draw_published(
    axes: Axes, card: Scorecard, drawn: Collection[str], marks: PublishedMarks, columns: tuple[str, str]
) -> list[LabelledPoint]:
    """Draw published points, joined to the run's own by dotted lines. Return the points that need a name."""
    named = []
    series = [(name, one) for name, one in marks.own.items() if name in drawn] + [("", one) for one in marks.others]
    for own, one in series:
        values = [one.values.get(("overall", "overall", column)) for column in columns]
        if values[0] is None or values[1] is None:
            continue
        x, y = values[0].value, values[1].value
        draw_published(axes, x, y)
        if own:
            ends = [card.cell(own, column).value or 0.0 for column in columns]
            axes.plot([ends[0], x], [ends[1], y], color=canvas.FOREGROUND, linestyle=":", linewidth=0.8, zorder=1)
        else:
            named.append(LabelledPoint(x, y, published_label(one)))
    return named


def _diagonal_range(axes: Axes, metric: Metric) -> tuple[float, float] | None:
    """Return the visible range in which both metrics can be equal, or None if it is too short."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    start, end = max(left, low, metric.low), min(right, high, metric.high)
    return (start, end) if end - start >= 0.15 * (right - left) else None


def _draw_diagonal(axes: Axes, ends: tuple[float, float], words: str) -> Text:
    """Draw a dashed line of equal values, with its name at the start."""
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
