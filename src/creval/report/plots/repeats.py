"""How often to measure: the variation of a mean over K measurements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.schema import Card
from creval.report.plots import canvas
from creval.report.plots.names import harmless

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.analysis.repeats import Repeats

_FAR = 10**9  # measurements that nobody has observed


@canvas.styled
def repeats(found: Repeats, card: Card, *, about: str = "") -> Figure:
    """Variations as observed, and the curves that follow from how single measurements scatter.

    Metrics on the same scale share a panel.
    """
    from matplotlib.lines import Line2D

    scales: dict[tuple[float, float], list[str]] = {}
    for name in found.values:
        metric = card.metric(name)
        scales.setdefault((metric.low, metric.high), []).append(name)
    order = list(found.values)
    entries = []
    for at, name in enumerate(order):
        seen = canvas.look(at)
        handle = Line2D([], [], color=seen.colour, marker=seen.mark, linestyle=seen.dash)
        entries.append((f"{harmless(name)}: {harmless(card.metric(name).label)}", handle))
    made, body = canvas.sheet(
        "How much a sample's score varies when it is measured again",
        f"{about}Marks: observed, half the range of four means over distinct measurements, "
        "averaged over edits. Lines: what follows from how single measurements scatter.",
        3.4,
        entries=entries,
        wide=6.2 if len(scales) == 1 else canvas.WIDE,
    )
    grid = body.subplots(1, len(scales), squeeze=False)
    for axes, ((low, high), metrics) in zip(grid.flat, scales.items(), strict=True):
        most = max([20, *(4 * max(found.observed[name], default=1) for name in metrics)])
        for name in metrics:
            _curve(axes, found, name, most, canvas.look(order.index(name)))
        _axes(axes, most)
        axes.set_ylabel(f"variation, in points of {low:g} to {high:g}")
    return made


def _curve(axes: Any, found: Repeats, name: str, most: int, seen: canvas.Look) -> None:
    counts = np.geomspace(1, most, 100)
    once = found.variation(name, _FAR) * math.sqrt(_FAR)
    axes.plot(counts, once / np.sqrt(counts), color=seen.colour, linestyle=seen.dash, alpha=0.8)
    observed = found.observed[name]
    axes.plot(list(observed), list(observed.values()), color=seen.colour, marker=seen.mark,
              linestyle="")  # fmt: skip


def _axes(axes: Any, most: int) -> None:
    axes.set_xscale("log")
    ticks = [n for n in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if n <= most]
    axes.set_xticks(ticks, [f"{n}" for n in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid()
    axes.set_xlabel("measurements in a mean (K)")
