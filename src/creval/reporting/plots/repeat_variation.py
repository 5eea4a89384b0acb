"""Plot of the variation of a mean over K measurements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.schema import ScoreSchema
from creval.reporting.plots import canvas
from creval.reporting.plots.names import escape_plot_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.analysis.measurement_repeats import RepeatVariation

_EXTRAPOLATED = 10**9  # a number of measurements far above the observed ones


@canvas.plot_style()
def repeat_variation(repeats: RepeatVariation, card: ScoreSchema, *, about: str = "") -> Figure:
    """Draw observed and extrapolated variations. Metrics with the same range share a panel."""
    scales: dict[tuple[float, float], list[str]] = {}
    for name in repeats.values:
        metric = card.find_metric(name)
        scales.setdefault((metric.low, metric.high), []).append(name)
    order = list(repeats.values)
    labels = (escape_plot_text(card.find_metric(name).title) for name in order)
    made, body = canvas.make_figure(
        "Variation of a sample's score between repeated measurements",
        f"{about}Marks: observed variation, half the range of four means over distinct measurements, "
        "averaged over edits. Lines: extrapolated from the standard deviation of single measurements.",
        3.4,
        entries=canvas.legend_entries(labels, lines=True),
        width=6.2 if len(scales) == 1 else canvas.FIGURE_WIDTH,
    )
    grid = body.subplots(1, len(scales), squeeze=False)
    for axes, ((low, high), metrics) in zip(grid.flat, scales.items(), strict=True):
        most = max([20, *(4 * max(repeats.observed[name], default=1) for name in metrics)])
        for name in metrics:
            _draw_curve(axes, repeats, name, most, canvas.series_style(order.index(name)))
        _set_axes(axes, most)
        axes.set_ylabel(f"variation (scale {low:g} to {high:g})")
    return made


def _draw_curve(axes: Any, repeats: RepeatVariation, name: str, most: int, series: canvas.SeriesStyle) -> None:
    counts = np.geomspace(1, most, 100)
    once = repeats.variation(name, _EXTRAPOLATED) * math.sqrt(_EXTRAPOLATED)
    axes.plot(counts, once / np.sqrt(counts), color=series.colour, linestyle=series.dash, alpha=0.8)
    observed = repeats.observed[name]
    axes.plot(list(observed), list(observed.values()), color=series.colour, marker=series.marker, linestyle="")


def _set_axes(axes: Any, most: int) -> None:
    axes.set_xscale("log")
    ticks = [n for n in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if n <= most]
    axes.set_xticks(ticks, [f"{n}" for n in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid()
    axes.set_xlabel("measurements per mean (K)")
