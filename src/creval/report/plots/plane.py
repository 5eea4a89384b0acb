"""Following against keeping: who does what was asked, and who leaves the rest alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creval.core.errors import CrevalError, known_name
from creval.core.schema import Metric
from creval.report.plots import canvas, selection
from creval.report.plots.label_placement import Spot, place
from creval.report.plots.names import harmless, names
from creval.stats.scorecard import Cell, Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_KEEPING = ("VC", "IP")


def keeping(card: Scorecard) -> str:
    """The column that says how much was kept."""
    found = next((name for name in _KEEPING if name in card.table.card.columns), None)
    if found is None or "IF" not in card.table.card.columns:
        raise CrevalError(
            "the plane sets instruction following (IF) against what was kept (VC or IP), and these "
            f"scores are {', '.join(card.table.card.columns)}: `creval plot RUN forest` draws them."
        )
    return found


@canvas.styled
def plane(card: Scorecard, follow: str = "IF", keep: str = "", *, about: str = "") -> Figure:
    """How far each model follows instructions, and how much it keeps, with their intervals."""
    keep = keep or keeping(card)
    for column in (follow, keep):
        known_name("metric", column, card.table.card.columns)
    cells = {name: (card.cell(name, follow), card.cell(name, keep)) for name in card.systems}
    drawn = {n: two for n, two in cells.items() if two[0].value is not None is not two[1].value}
    if not drawn:
        raise CrevalError(f"no model has both {follow} and {keep} yet, so there is no point.")
    missing = [name for name in cells if name not in drawn]
    absent = f"Without a value, so not shown: {', '.join(names(missing).values())}. "
    made, body = canvas.sheet(
        f"{harmless(follow)} and {harmless(keep)} of each model",
        f"{about}Bars: 95 % intervals over samples. "
        f"{canvas.hollow(cell for two in drawn.values() for cell in two)}"
        f"{absent if missing else ''}Axes may show a part of their range.",
        4.6,
        told=selection.told(card, (follow, keep)),
        wide=6.2,
    )
    axes = body.add_subplot()
    spots = []
    shown = names(drawn, 22, 2)
    for at, name in enumerate(card.systems):
        if name in drawn:
            spots.append(_point(axes, *drawn[name], canvas.look(at), shown[name]))
    metrics = [card.table.card.metric(column) for column in (follow, keep)]
    axes.set_xlabel(_words(metrics[0], follow))
    axes.set_ylabel(_words(metrics[1], keep))
    axes.margins(0.14)
    _within(axes, *metrics)
    axes.grid()
    alike = (metrics[0].low, metrics[0].high) == (metrics[1].low, metrics[1].high)
    ends = _diagonal(axes, metrics[0]) if alike else None
    if ends is None:
        place(made, axes, spots)
    else:
        words = _along(axes, ends, f"{harmless(follow)} = {harmless(keep)}")
        place(made, axes, spots, avoid=[words], lines=[(ends[0], ends[0], ends[1], ends[1])])
    return made


def _words(metric: Metric, column: str) -> str:
    return f"{harmless(metric.label)} ({harmless(column)}, {selection.scale(metric)})"


def _point(axes: Axes, across: Cell, up: Cell, seen: canvas.Look, name: str) -> Spot:
    x, y = across.value or 0.0, up.value or 0.0
    ends = canvas.reach(across), canvas.reach(up)
    axes.errorbar(x, y, xerr=ends[0], yerr=ends[1], fmt="none", ecolor=seen.colour, elinewidth=1.1,
                  capsize=2.5)  # fmt: skip
    axes.plot(
        x, y, marker=seen.mark, linestyle="", markersize=1.2 * seen.size,
        markeredgecolor=seen.colour, markerfacecolor="none" if None in ends else seen.colour,
    )  # fmt: skip
    bars = []
    if across.low is not None and across.high is not None:
        bars.append((across.low, y, across.high, y))
    if up.low is not None and up.high is not None:
        bars.append((x, up.low, x, up.high))
    return Spot(x, y, name, bars)


def _within(axes: Axes, across: Metric, up: Metric) -> None:
    """Let axes end a little outside the metrics' ranges at most."""
    for metric, limits, limit in (
        (across, axes.get_xlim(), axes.set_xlim),
        (up, axes.get_ylim(), axes.set_ylim),
    ):
        more = 0.05 * (metric.high - metric.low)
        limit(max(limits[0], metric.low - more), min(limits[1], metric.high + more))


def _diagonal(axes: Axes, metric: Metric) -> tuple[float, float] | None:
    """From where to where both are the same, if that can be seen."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    start, end = max(left, low, metric.low), min(right, high, metric.high)
    return (start, end) if end - start >= 0.15 * (right - left) else None


def _along(axes: Axes, ends: tuple[float, float], words: str) -> Text:
    """A dashed line where both are the same; its name stands where it begins."""
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    axes.plot(ends, ends, color=canvas.INK, linewidth=0.8, alpha=0.5, linestyle=(0, (4, 3)),
              zorder=0)  # fmt: skip
    return axes.text(
        ends[0], ends[0], f"   {words}", ha="left", va="bottom", fontsize=canvas.SMALL, alpha=0.75,
        rotation=45, rotation_mode="anchor", transform_rotates_text=True, in_layout=False,
    )  # fmt: skip
