"""Radar plot: each metric over the groups of a level, around a circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.formatting import format_value
from creval.reporting.plots import canvas, selection
from creval.reporting.plots.names import escape_plot_text, model_labels, wrap_label, wrap_words
from creval.stats.scorecard import MIN_CLUSTERS, Scorecard, ScoreEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_MODELS = 6
"""Largest number of models that keeps a panel readable."""
_CROWDED_SPOKES = 12  # with more spokes, names are written along them
_LABEL_GAP = 0.12  # inches from a circle to the names around it


@canvas.plot_style()
def radar(
    card: Scorecard, level: str = "", *, metrics: Sequence[str] = (), about: str = "", max_models: int = MAX_MODELS
) -> Figure:
    """Draw the groups of a level around a circle, with a panel per metric and a line per model.

    The centre of a circle is the metric's minimum, or a larger number if no value is close to the minimum. With many
    groups only one metric is drawn.
    """
    level = selection.resolve_level(card, level, min_groups=3)
    groups = card.groups(level)
    columns = selection.columns_with_values(card, level, groups, metrics)
    models, left_out = selection.top_models(card, max_models)
    crowded = len(groups) > _CROWDED_SPOKES
    if crowded and not metrics and len(columns) > 1:
        columns = columns[:1]
        left_out += "`metrics` selects other metrics. "
    across = 1 if crowded or len(columns) == 1 else 2
    rows = math.ceil(len(columns) / across)
    ends = [wrap_words(group, 20, 2) if crowded else wrap_words(group, 16, 3) for group in groups]
    place = _RadarLayout(across, rows, max(len(line) for end in ends for line in end.split("\n")), crowded)
    drawn = [[[card.cell(name, column, group, level) for group in groups] for name in models] for column in columns]
    made, body = canvas.make_figure(
        f"By {escape_plot_text(level)}: {', '.join(map(escape_plot_text, columns))}",
        f"{about}{left_out}The title of each panel states the values at its centre and its edge"
        f"{_interval_note(drawn)} A gap in a line is a group without a value.",
        rows * place.panel_height,
        entries=canvas.legend_entries(model_labels(models, 34).values(), lines=True),
        alt_text=selection.values_text(card, columns),
    )
    for at, (column, cells) in enumerate(zip(columns, drawn, strict=True)):
        axes = body.add_axes(place.circle(at), projection="polar")
        _draw_panel(axes, cells, ends, *radial_range(card, column, cells), place.size, crowded=crowded)
        body.text(
            *place.title(at), _panel_title(card, column, cells), ha="center", va="top", fontsize=canvas.SMALL_FONT + 0.5
        )
    return made


def _interval_note(panels: Sequence[Sequence[Sequence[ScoreEstimate]]]) -> str:
    """Return the part of the caption that describes the intervals."""
    there = [c for panel in panels for row in panel for c in row if c.value is not None]
    few = sum(cell.low is None for cell in there)
    if there and few == len(there):
        return f". There are no intervals, because no group has {MIN_CLUSTERS} samples with a value."
    rest = f" Groups with fewer than {MIN_CLUSTERS} samples have no interval." if few else ""
    return f", and the mean half-width of intervals (95 %, over samples).{rest}"


class _RadarLayout:
    """Positions of circles and titles, as fractions of the figure's size.

    Matplotlib's automatic layout would make the circles smaller.
    """

    def __init__(self, across: int, rows: int, letters: int, crowded: bool) -> None:
        self.across, self.rows = across, rows
        self.panel_width = canvas.FIGURE_WIDTH / across
        margin = letters * 0.06 + (0.2 if crowded else 0.12)
        self.size = min(self.panel_width - 2 * margin, 4.2 if crowded else 2.2 if across > 1 else 3.2)
        self.title_height = 0.4 + (margin if crowded else 0.12 + 0.14 * self.size)
        self.panel_height = self.title_height + self.size + (margin if crowded else 0.52)

    def _corner(self, at: int) -> tuple[float, float]:
        """Return a panel's upper left corner, in inches from the upper left corner of the figure."""
        return (at % self.across) * self.panel_width, (at // self.across) * self.panel_height

    def circle(self, at: int) -> tuple[float, float, float, float]:
        x, y = self._corner(at)
        whole = self.rows * self.panel_height
        left = x + (self.panel_width - self.size) / 2
        return (
            left / canvas.FIGURE_WIDTH,
            1 - (y + self.title_height + self.size) / whole,
            self.size / canvas.FIGURE_WIDTH,
            self.size / whole,
        )

    def title(self, at: int) -> tuple[float, float]:
        x, y = self._corner(at)
        return (x + self.panel_width / 2) / canvas.FIGURE_WIDTH, 1 - (y + 0.08) / (self.rows * self.panel_height)


def _draw_panel(
    axes: Any,
    cells: Sequence[Sequence[ScoreEstimate]],
    ends: Sequence[str],
    low: float,
    high: float,
    size: float,
    *,
    crowded: bool,
) -> None:
    angles = np.linspace(0, 2 * np.pi, len(ends), endpoint=False)
    for at, row in enumerate(cells):
        seen = canvas.series_style(at)
        values = [math.nan if cell.value is None else cell.value for cell in row]
        axes.plot(
            [*angles, angles[0]],
            [*values, values[0]],
            color=seen.colour,
            marker=seen.marker,
            linestyle=seen.dash,
            markersize=0.8 * seen.size,
            linewidth=seen.line_width,
            clip_on=False,
        )
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    axes.set_ylim(low, high)
    steps = ring_values(low, high)
    axes.set_rgrids(steps, [""] * len(steps))
    axes.set_thetagrids(np.degrees(angles), [""] * len(angles))
    axes.spines["polar"].set_alpha(0.35)
    for ring in steps:
        axes.text(
            np.pi / len(ends),
            ring,
            f"{ring:g}",
            fontsize=canvas.SMALL_FONT,
            ha="center",
            va="center",
            bbox={"facecolor": canvas.BACKGROUND, "edgecolor": "none", "alpha": 0.7, "pad": 0.6},
        )
    out = high + (high - low) * _LABEL_GAP / (size / 2)
    for angle, end in zip(angles, ends, strict=True):
        _draw_spoke_label(axes, angle, end, out, crowded=crowded)


def _panel_title(card: Scorecard, column: str, cells: Sequence[Sequence[ScoreEstimate]]) -> str:
    metric = card.table.schema.find_metric(column)
    low, high = radial_range(card, column, cells)
    best = "" if metric.higher_is_better else ", lower is better"
    reaches = [(c.high - c.low) / 2 for row in cells for c in row if c.high is not None and c.low is not None]
    sure = f"; intervals ± {format_value(float(np.mean(reaches)), metric.digits)}" if reaches else ""
    return f"{wrap_label(metric.title, 54, 1)}\ncentre {low:g}, edge {high:g}{best}{sure}"


def _draw_spoke_label(axes: Any, angle: float, words: str, out: float, *, crowded: bool) -> None:
    """Write a group's name at the end of its spoke, horizontally or, if crowded, along the spoke."""
    across, up = math.sin(angle), math.cos(angle)
    if crowded:
        left, turn = across < -1e-9, 90 - math.degrees(angle)
        side, turn = ("right", turn + 180) if left else ("left", turn)
        label = axes.text(angle, out, words, fontsize=canvas.SMALL_FONT, ha=side, va="center", rotation=turn)
        label.set_rotation_mode("anchor")
        return
    side = "center" if abs(across) < 0.2 else "left" if across > 0 else "right"
    rise = "center" if abs(up) < 0.8 else "bottom" if up > 0 else "top"
    axes.text(angle, out, words, fontsize=canvas.SMALL_FONT, ha=side, va=rise, linespacing=1.0)


def radial_range(card: Scorecard, column: str, cells: Sequence[Sequence[ScoreEstimate]]) -> tuple[float, float]:
    """Return the values at the centre and edge of a circle: round numbers that enclose the values."""
    metric = card.table.schema.find_metric(column)
    values = [cell.value for row in cells for cell in row if cell.value is not None]
    if not values:
        return metric.low, metric.high
    step = (metric.high - metric.low) / 10
    first = math.floor((min(values) - metric.low) / step - 0.5)
    last = math.ceil((max(values) - metric.low) / step + 0.05)
    if metric.low <= min(values):
        first = max(first, 0)
    if max(values) <= metric.high:
        last = min(last, 10)
    if 0 < first <= 2:  # close enough to zero to show it
        first = 0
    if last - first > 5 and (last - first) % 2:  # rings at round numbers
        first, last = (first, last + 1) if first == 0 else (first - 1, last)
    return round(metric.low + first * step, 10), round(metric.low + last * step, 10)


def ring_values(low: float, high: float) -> list[float]:
    """Return up to five round numbers between a circle's centre (exclusive) and its edge."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    found = (float(round(ring, 10)) for ring in ticks)
    return [ring for ring in found if low < ring <= high]
