"""Names beside points, so placed that none covers another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.report.plots import canvas

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AWAY = (7.0, 12.0, 19.0, 28.0, 40.0, 55.0, 75.0, 100.0)  # points from a point to its name
_TURNS = 24
_LED = 14.0  # points from which on a line leads from a name to its point


Segment = tuple[float, float, float, float]
"""A line's two ends: x, y, x, y."""


class Box(NamedTuple):
    """A rectangle in points, from the figure's lower left."""

    left: float
    low: float
    right: float
    high: float

    def shared(self, other: Box) -> float:
        """The area that two have in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.high, other.high) - max(self.low, other.low)
        return max(0.0, wide) * max(0.0, high)

    def area(self) -> float:
        return (self.right - self.left) * (self.high - self.low)


class Spot(NamedTuple):
    """A point in an axes' data with its name, and what it covers itself, such as its bars.

    `within` are places on which its name can stand itself, where it is no mark but a field.
    """

    across: float
    up: float
    name: str
    covers: Sequence[Segment] = ()
    within: Sequence[tuple[float, float]] = ()


def place(
    made: Figure,
    axes: Axes,
    spots: Sequence[Spot],
    avoid: Sequence[Artist] = (),
    lines: Sequence[Segment] = (),
) -> list[Any]:
    """Write the names of points, each where it covers least, with lines to those far away.

    Nor do they cover what they are to `avoid`, nor `lines` if that can be.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn: Any = FigureCanvasAgg(made)
    renderer = drawn.get_renderer()
    made.draw_without_rendering()  # the layout says where points lie
    unit = 72 / made.dpi

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = axes.transData.transform((x, y))
        return float(across) * unit, float(up) * unit

    extent = axes.get_window_extent(renderer)
    inside = Box(*(float(end) * unit for end in extent.extents))
    points = [at(spot.across, spot.up) for spot in spots]
    marks = [
        Box(x - 4, y - 4, x + 4, y + 4)
        for (x, y), spot in zip(points, spots, strict=True)
        if not spot.within
    ]
    bars = [
        box
        for x0, y0, x1, y1 in (*lines, *(line for spot in spots for line in spot.covers))
        for box in _along(at(x0, y0), at(x1, y1))
    ]
    taken = [
        Box(*(float(end) * unit for end in artist.get_window_extent(renderer).extents))
        for artist in avoid
    ]
    written = []
    for spot, point in zip(spots, points, strict=True):
        words = axes.annotate(
            spot.name, (spot.across, spot.up), (0, 0), textcoords="offset points", ha="center",
            va="center", fontsize=canvas.SMALL, linespacing=1.05, zorder=5,
        )  # fmt: skip
        size = words.get_window_extent(renderer)
        wide, high = size.width * unit + 2, size.height * unit + 1
        others = [mark for mark in marks if not _holds(mark, point)]
        _, away, box = min(
            (_cost(box, point, away, inside, taken, others, bars), away, box)
            for away, box in _boxes(point, wide, high, [at(*one) for one in spot.within])
        )
        taken.append(box)
        middle = ((box.left + box.right) / 2, (box.low + box.high) / 2)
        words.set_position((middle[0] - point[0], middle[1] - point[1]))
        words.set_in_layout(False)
        if away >= _LED or (not spot.within and _doubtful(box, point, others)):
            _lead(axes, spot, point, box)
        written.append(words)
    return written


def _along(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Box]:
    """A line as a row of small boxes."""
    steps = max(1, round(math.dist(start, end) / 3))
    for step in range(steps + 1):
        x, y = (a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
        yield Box(x - 1.5, y - 1.5, x + 1.5, y + 1.5)


def _boxes(
    point: tuple[float, float],
    wide: float,
    high: float,
    within: Sequence[tuple[float, float]],
) -> Iterator[tuple[float, Box]]:
    """Where a name could stand: in its field, or around its point, near or far."""
    for x, y in within:
        near = min(math.dist(point, (x, y)) / 20, _LED - 1)
        yield near, Box(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
    for away in _AWAY:
        for turn in range(_TURNS):
            angle = 2 * math.pi * turn / _TURNS
            across, up = math.cos(angle), math.sin(angle)
            x = point[0] + across * (away + wide / 2)
            y = point[1] + up * (away + high / 2)
            yield away, Box(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)


def _cost(
    box: Box,
    point: tuple[float, float],
    away: float,
    inside: Box,
    taken: Sequence[Box],
    marks: Sequence[Box],
    bars: Sequence[Box],
) -> float:
    outside = box.area() - box.shared(inside)
    covered = sum(box.shared(other) for other in taken) * 20
    covered += sum(box.shared(mark) for mark in marks) * 10
    covered += sum(box.shared(bar) for bar in bars) * 3
    if _doubtful(box, point, marks):
        covered += 25
    if away >= _LED:
        line = _line(point, box)
        covered += 60 * sum(_crosses(line, other) for other in taken)
        covered += 30 * sum(_crosses(line, mark) for mark in marks)
    return covered + outside * 8 + 1.3 * away


def _doubtful(box: Box, point: tuple[float, float], marks: Sequence[Box]) -> bool:
    """Whether a name stands about as near to another's mark as to its own."""
    own = math.dist(point, _line(point, box)[2:])
    middles = [((m.left + m.right) / 2, (m.low + m.high) / 2) for m in marks]
    return any(math.dist(at, _line(at, box)[2:]) < own + 6 for at in middles)


def _line(point: tuple[float, float], box: Box) -> Segment:
    """From a point to the nearest place on a box."""
    x = min(max(point[0], box.left), box.right)
    y = min(max(point[1], box.low), box.high)
    return *point, x, y


def _crosses(line: Segment, box: Box) -> bool:
    """Whether a line passes through a box, looked at in a few places."""
    x0, y0, x1, y1 = line
    for step in range(1, 16):
        x, y = x0 + (x1 - x0) * step / 16, y0 + (y1 - y0) * step / 16
        if _holds(box, (x, y)):
            return True
    return False


def _holds(box: Box, point: tuple[float, float]) -> bool:
    return box.left <= point[0] <= box.right and box.low <= point[1] <= box.high


def _lead(axes: Axes, spot: Spot, point: tuple[float, float], box: Box) -> None:
    _, _, x, y = _line(point, box)
    line = axes.annotate(
        "", (spot.across, spot.up), (x - point[0], y - point[1]), textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": canvas.INK, "alpha": 0.6, "linewidth": 0.6,
                    "shrinkA": 0, "shrinkB": 3},
        zorder=1,
    )  # fmt: skip
    line.set_in_layout(False)
