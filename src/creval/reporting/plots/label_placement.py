"""Placement of names beside points without overlaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.reporting.plots import canvas
from creval.stats.scorecard import ScoreEstimate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DISTANCES = (7.0, 12.0, 19.0, 28.0, 40.0, 55.0, 75.0, 100.0)  # from a point to its name, in points (1/72 inch)
_DIRECTIONS = 24
_LEADER_DISTANCE = 14.0  # points; beyond this distance a line joins a name to its point
_LEADER_STYLE = {
    "arrowstyle": "-",
    "color": canvas.FOREGROUND,
    "alpha": 0.6,
    "linewidth": 0.6,
    "shrinkA": 0,
    "shrinkB": 3,
}

Segment = tuple[float, float, float, float]
"""Both ends of a line: x, y, x, y."""


class LabelBox(NamedTuple):
    """A rectangle in points, relative to the figure's lower left corner."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def around(cls, x: float, y: float, wide: float, high: float) -> LabelBox:
        return cls(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)

    def contains(self, point: tuple[float, float]) -> bool:
        return self.left <= point[0] <= self.right and self.low <= point[1] <= self.high

    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.low + self.high) / 2

    def overlap(self, other: LabelBox) -> float:
        """Return the area of the intersection."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.high, other.high) - max(self.low, other.low)
        return max(0.0, wide) * max(0.0, high)

    def area(self) -> float:
        return (self.right - self.left) * (self.high - self.low)


class LabelledPoint(NamedTuple):
    """A point in data coordinates with its name.

    `segments` are the lines drawn with the point, such as error bars. `label_positions`: the positions at which the
    name may be written, if the point stands for an area.
    """

    x: float
    y: float
    name: str
    segments: Sequence[Segment] = ()
    label_positions: Sequence[tuple[float, float]] = ()


def draw_labelled_point(
    axes: Axes,
    across: ScoreEstimate | float,
    up: ScoreEstimate,
    series: canvas.SeriesStyle,
    name: str,
    *,
    zorder: float = 2,
) -> LabelledPoint:
    """Draw a model's mark with its intervals. If `across` is a plain number, no interval is drawn along x."""
    cell = across if isinstance(across, ScoreEstimate) else None
    x, y = across.value or 0.0 if isinstance(across, ScoreEstimate) else across, up.value or 0.0
    canvas.draw_point(
        axes, x, y, series, 1.2 * series.size, across=cell, up=up, zorder=zorder, elinewidth=1.1, capsize=2.5
    )
    bars = [] if cell is None or cell.low is None or cell.high is None else [(cell.low, y, cell.high, y)]
    if up.low is not None and up.high is not None:
        bars.append((x, up.low, x, up.high))
    return LabelledPoint(x, y, name, bars)


def place_labels(
    figure: Figure,
    axes: Axes,
    points: Sequence[LabelledPoint],
    avoid: Sequence[Artist] = (),
    lines: Sequence[Segment] = (),
) -> list[Any]:
    """Write each point's name where it covers the least of the plot.

    A line joins a name to its point if the two are far apart, or if the name could belong to another point.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn: Any = FigureCanvasAgg(figure)
    renderer = drawn.get_renderer()
    figure.draw_without_rendering()  # the layout says where points lie
    unit = 72 / figure.dpi

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y))
        return float(across) * unit, float(up) * unit

    extent = axes.get_window_extent(renderer)
    inside = LabelBox(*(float(end) * unit for end in extent.extents))
    positions = [at(spot.x, spot.y) for spot in points]
    marks = [
        LabelBox.around(x, y, 8, 8) for (x, y), spot in zip(positions, points, strict=True) if not spot.label_positions
    ]
    bars = [
        box
        for x0, y0, x1, y1 in (*lines, *(line for spot in points for line in spot.segments))
        for box in _segment_boxes(at(x0, y0), at(x1, y1))
    ]
    taken = [LabelBox(*(float(end) * unit for end in artist.get_window_extent(renderer).extents)) for artist in avoid]
    written = []
    for spot, point in zip(points, positions, strict=True):
        words = axes.annotate(
            spot.name,
            (spot.x, spot.y),
            (0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=canvas.SMALL_FONT,
            linespacing=1.05,
            zorder=5,
        )
        size = words.get_window_extent(renderer)
        wide, high = size.width * unit + 2, size.height * unit + 1
        others = [mark for mark in marks if not mark.contains(point)]
        _, away, box = min(
            (_placement_cost(box, point, away, inside, taken, others, bars), away, box)
            for away, box in _candidate_boxes(point, wide, high, [at(*one) for one in spot.label_positions])
        )
        taken.append(box)
        x, y = box.middle()
        words.set_position((x - point[0], y - point[1]))
        words.set_in_layout(False)
        if away >= _LEADER_DISTANCE or (not spot.label_positions and _is_ambiguous(box, point, others)):
            _draw_leader(axes, spot, point, box)
        written.append(words)
    return written


def _segment_boxes(start: tuple[float, float], end: tuple[float, float]) -> Iterator[LabelBox]:
    """Yield small boxes that cover a line."""
    steps = max(1, round(math.dist(start, end) / 3))
    for step in range(steps + 1):
        x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
        yield LabelBox.around(x, y, 3, 3)


def _candidate_boxes(
    point: tuple[float, float], wide: float, high: float, within: Sequence[tuple[float, float]]
) -> Iterator[tuple[float, LabelBox]]:
    """Yield candidate positions of a name, in its area or around its point, with their distances."""
    for x, y in within:
        near = min(math.dist(point, (x, y)) / 20, _LEADER_DISTANCE - 1)
        yield near, LabelBox.around(x, y, wide, high)
    for away in _DISTANCES:
        for turn in range(_DIRECTIONS):
            angle = 2 * math.pi * turn / _DIRECTIONS
            x = point[0] + math.cos(angle) * (away + wide / 2)
            y = point[1] + math.sin(angle) * (away + high / 2)
            yield away, LabelBox.around(x, y, wide, high)


def _placement_cost(
    box: LabelBox,
    point: tuple[float, float],
    away: float,
    inside: LabelBox,
    taken: Sequence[LabelBox],
    marks: Sequence[LabelBox],
    bars: Sequence[LabelBox],
) -> float:
    outside = box.area() - box.overlap(inside)
    covered = sum(box.overlap(other) for other in taken) * 20
    covered += sum(box.overlap(mark) for mark in marks) * 10
    covered += sum(box.overlap(bar) for bar in bars) * 3
    if _is_ambiguous(box, point, marks):
        covered += 25
    if away >= _LEADER_DISTANCE:
        line = _nearest_segment(point, box)
        covered += 60 * sum(_crosses(line, other) for other in taken)
        covered += 30 * sum(_crosses(line, mark) for mark in marks)
    return covered + outside * 8 + 1.3 * away


def _is_ambiguous(box: LabelBox, point: tuple[float, float], marks: Sequence[LabelBox]) -> bool:
    """Return whether a name is about as close to another mark as to its own."""
    own = math.dist(point, _nearest_segment(point, box)[2:])
    middles = (mark.middle() for mark in marks)
    return any(math.dist(at, _nearest_segment(at, box)[2:]) < own + 6 for at in middles)


def _nearest_segment(point: tuple[float, float], box: LabelBox) -> Segment:
    """Return the line from a point to the nearest point of a box."""
    x = min(max(point[0], box.left), box.right)
    y = min(max(point[1], box.low), box.high)
    return *point, x, y


def _crosses(line: Segment, box: LabelBox) -> bool:
    """Return whether a line passes through a box, tested at 15 points."""
    x0, y0, x1, y1 = line
    places = ((x0 + (x1 - x0) * step / 16, y0 + (y1 - y0) * step / 16) for step in range(1, 16))
    return any(map(box.contains, places))


def _draw_leader(axes: Axes, labelled: LabelledPoint, point: tuple[float, float], box: LabelBox) -> None:
    _, _, x, y = _nearest_segment(point, box)
    line = axes.annotate(
        "",
        (labelled.x, labelled.y),
        (x - point[0], y - point[1]),
        textcoords="offset points",
        arrowprops=_LEADER_STYLE,
        zorder=1,
    )
    line.set_in_layout(False)
