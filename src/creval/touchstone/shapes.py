"""Shapes of objects. Each kind of object consists of parts in a unit square, drawn on top of each other.

A part has an outline and a tone: `main` is the object's own colour, `second` a lighter and `deep` a darker one. Other
tones are the same for all objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

Point = tuple[float, float]
Placement = Callable[[float, float], Point]
"""Function that maps a point of a drawing to the unit square."""


class ShapePart(NamedTuple):
    """A part of an object: an area or, if `line` is not 0, an open line of this width."""

    points: tuple[Point, ...]
    tone: str = "main"
    line: float = 0.0


def _as_given(x: float, y: float) -> Point:
    return x, y


def oval(x: float, y: float, across: float, down: float, tone: str = "main") -> ShapePart:
    """Return an ellipse, given its centre and semi-axes."""
    turns = (2 * math.pi * n / 48 for n in range(48))
    return ShapePart(tuple((x + across * math.cos(t), y + down * math.sin(t)) for t in turns), tone)


def block(left: float, top: float, right: float, bottom: float, round_: float = 0.0, tone: str = "main") -> ShapePart:
    """Return a rectangle, optionally with rounded corners."""
    if not round_:
        return ShapePart(((left, top), (right, top), (right, bottom), (left, bottom)), tone)
    corners = (
        (right - round_, top + round_, -90),
        (right - round_, bottom - round_, 0),
        (left + round_, bottom - round_, 90),
        (left + round_, top + round_, 180),
    )
    turns = ((x, y, math.radians(start + 15 * step)) for x, y, start in corners for step in range(7))
    return ShapePart(tuple((x + round_ * math.cos(t), y + round_ * math.sin(t)) for x, y, t in turns), tone)


def polygon(points: str, tone: str = "main", at: Placement = _as_given) -> ShapePart:
    """Return a polygon. As in SVG, points are `x,y` pairs separated by spaces."""
    return ShapePart(_parse_points(points, at), tone)


def closed_curve(points: str, tone: str = "main", at: Placement = _as_given) -> ShapePart:
    """Return an area with a smooth outline through points."""
    return ShapePart(tuple(_spline(_parse_points(points, at), closed=True)), tone)


def stroke(points: str, *, width: float, tone: str = "main") -> ShapePart:
    """Return an open smooth line."""
    return ShapePart(tuple(_spline(_parse_points(points), closed=False)), tone, width)


def _parse_points(text: str, at: Placement = _as_given) -> tuple[Point, ...]:
    pairs = (pair.split(",") for pair in text.split())
    return tuple(at(float(x), float(y)) for x, y in pairs)


def _spline(points: Sequence[Point], *, closed: bool) -> list[Point]:
    """Return points of the Catmull-Rom spline through the given points."""
    count = len(points)
    found: list[Point] = []
    for at in range(count if closed else count - 1):
        four = [
            points[(at + step) % count] if closed else points[min(max(at + step, 0), count - 1)]
            for step in (-1, 0, 1, 2)
        ]
        for step in range(8):
            t = step / 8
            weights = (-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, -(t**2) + t**3)
            x, y = (sum(w * p[axis] for w, p in zip(weights, four, strict=True)) / 2 for axis in (0, 1))
            found.append((x, y))
    if not closed:
        found.append(points[-1])
    return found


def star(x: float, y: float, outer: float, inner: float, rays: int) -> ShapePart:
    turns = ((inner if at % 2 else outer, math.pi * at / rays - math.pi / 2) for at in range(2 * rays))
    return ShapePart(tuple((x + radius * math.cos(t), y + radius * math.sin(t)) for radius, t in turns))


def eye(x: float, y: float, size: float) -> list[ShapePart]:
    return [oval(x, y, size, size, "white"), oval(x + size / 5, y, size * 0.55, size * 0.6, "dark")]


SUBJECT_KINDS: dict[str, list[ShapePart]] = {
    "cat": [
        stroke("0.74,0.86 0.92,0.74 0.9,0.5 0.97,0.4", width=0.07),
        closed_curve("0.3,0.5 0.22,0.75 0.24,0.95 0.5,0.97 0.76,0.95 0.78,0.75 0.7,0.5"),
        closed_curve("0.4,0.68 0.38,0.92 0.5,0.95 0.62,0.92 0.6,0.68", tone="second"),
        polygon("0.22,0.04 0.25,0.32 0.45,0.2"),
        polygon("0.78,0.04 0.75,0.32 0.55,0.2"),
        polygon("0.27,0.12 0.29,0.25 0.38,0.19", tone="second"),
        polygon("0.73,0.12 0.71,0.25 0.62,0.19", tone="second"),
        oval(0.5, 0.36, 0.3, 0.24),
        *eye(0.38, 0.33, 0.055),
        *eye(0.6, 0.33, 0.055),
        polygon("0.46,0.43 0.54,0.43 0.5,0.47", tone="dark"),
        oval(0.38, 0.95, 0.09, 0.045),
        oval(0.62, 0.95, 0.09, 0.045),
    ],
    "owl": [
        oval(0.38, 0.95, 0.08, 0.045, "pale"),
        oval(0.62, 0.95, 0.08, 0.045, "pale"),
        closed_curve("0.2,0.05 0.16,0.5 0.26,0.85 0.5,0.95 0.74,0.85 0.84,0.5 0.8,0.05 0.62,0.16 0.38,0.16"),
        closed_curve("0.17,0.45 0.08,0.7 0.22,0.88 0.3,0.6", tone="deep"),
        closed_curve("0.83,0.45 0.92,0.7 0.78,0.88 0.7,0.6", tone="deep"),
        oval(0.5, 0.7, 0.19, 0.2, "second"),
        oval(0.35, 0.35, 0.15, 0.15, "second"),
        oval(0.65, 0.35, 0.15, 0.15, "second"),
        *eye(0.36, 0.35, 0.085),
        *eye(0.64, 0.35, 0.085),
        polygon("0.45,0.43 0.55,0.43 0.5,0.54", tone="pale"),
    ],
    "fish": [
        polygon("0.28,0.5 0.02,0.24 0.1,0.5 0.02,0.76", tone="deep"),
        closed_curve("0.42,0.28 0.55,0.1 0.72,0.28", tone="deep"),
        closed_curve("0.45,0.72 0.52,0.88 0.66,0.73", tone="deep"),
        closed_curve("0.2,0.5 0.42,0.27 0.72,0.24 0.97,0.5 0.72,0.76 0.42,0.73"),
        closed_curve("0.62,0.3 0.56,0.5 0.62,0.7 0.7,0.5", tone="second"),
        closed_curve("0.4,0.5 0.5,0.44 0.54,0.52 0.48,0.6", tone="second"),
        *eye(0.82, 0.43, 0.05),
        stroke("0.93,0.57 0.88,0.6 0.84,0.59", width=0.018, tone="dark"),
    ],
    "teapot": [
        stroke("0.76,0.44 0.92,0.4 0.93,0.62 0.76,0.72", width=0.065),
        polygon("0.26,0.72 0.02,0.36 0.1,0.3 0.2,0.44 0.3,0.5"),
        oval(0.52, 0.62, 0.3, 0.28),
        block(0.36, 0.87, 0.68, 0.94, 0.03, "deep"),
        closed_curve("0.3,0.4 0.4,0.28 0.52,0.25 0.64,0.28 0.74,0.4 0.52,0.44", tone="second"),
        oval(0.52, 0.22, 0.05, 0.05, "deep"),
        oval(0.52, 0.63, 0.3, 0.05, "second"),
    ],
    "boat": [
        block(0.47, 0.08, 0.52, 0.72, tone="dark"),
        closed_curve("0.54,0.1 0.74,0.35 0.86,0.62 0.55,0.63", tone="pale"),
        closed_curve("0.45,0.16 0.28,0.4 0.16,0.62 0.44,0.63", tone="second"),
        polygon("0.47,0.03 0.47,0.12 0.32,0.08", tone="main"),
        polygon("0.05,0.68 0.95,0.68 0.8,0.94 0.2,0.94"),
        polygon("0.05,0.68 0.95,0.68 0.92,0.75 0.08,0.75", tone="second"),
        oval(0.36, 0.84, 0.04, 0.04, "pale"),
        oval(0.5, 0.84, 0.04, 0.04, "pale"),
        oval(0.64, 0.84, 0.04, 0.04, "pale"),
    ],
    "car": [
        closed_curve("0.2,0.5 0.3,0.26 0.5,0.2 0.7,0.26 0.82,0.5"),
        polygon("0.3,0.48 0.37,0.3 0.48,0.28 0.48,0.48", tone="glass"),
        polygon("0.53,0.48 0.53,0.28 0.64,0.3 0.72,0.48", tone="glass"),
        block(0.03, 0.46, 0.97, 0.76, 0.12),
        block(0.03, 0.6, 0.97, 0.66, tone="second"),
        oval(0.92, 0.55, 0.035, 0.045, "pale"),
        oval(0.25, 0.77, 0.13, 0.13, "dark"),
        oval(0.25, 0.77, 0.06, 0.06, "pale"),
        oval(0.76, 0.77, 0.13, 0.13, "dark"),
        oval(0.76, 0.77, 0.06, 0.06, "pale"),
    ],
    "house": [
        block(0.68, 0.06, 0.8, 0.36, tone="deep"),
        block(0.15, 0.42, 0.85, 0.95, tone="second"),
        polygon("0.5,0.05 0.97,0.46 0.03,0.46"),
        block(0.42, 0.62, 0.6, 0.95, tone="deep"),
        oval(0.56, 0.79, 0.017, 0.017, "pale"),
        block(0.21, 0.55, 0.36, 0.72, tone="glass"),
        block(0.66, 0.55, 0.8, 0.72, tone="glass"),
        oval(0.5, 0.31, 0.07, 0.07, "pale"),
    ],
    "tree": [
        block(0.43, 0.82, 0.57, 0.97, tone="bark"),
        closed_curve("0.5,0.46 0.62,0.62 0.88,0.84 0.5,0.88 0.12,0.84 0.38,0.62"),
        closed_curve("0.5,0.24 0.6,0.4 0.8,0.6 0.5,0.64 0.2,0.6 0.4,0.4"),
        closed_curve("0.5,0.02 0.58,0.18 0.72,0.36 0.5,0.4 0.28,0.36 0.42,0.18"),
        oval(0.42, 0.31, 0.035, 0.035, "second"),
        oval(0.6, 0.53, 0.035, 0.035, "second"),
        oval(0.36, 0.75, 0.035, 0.035, "second"),
    ],
    "mushroom": [
        closed_curve("0.38,0.5 0.36,0.75 0.3,0.93 0.5,0.97 0.7,0.93 0.64,0.75 0.62,0.5", tone="pale"),
        closed_curve("0.03,0.52 0.12,0.22 0.5,0.03 0.88,0.22 0.97,0.52 0.7,0.6 0.3,0.6"),
        oval(0.5, 0.22, 0.11, 0.09, "white"),
        oval(0.25, 0.37, 0.08, 0.07, "white"),
        oval(0.76, 0.38, 0.09, 0.07, "white"),
        oval(0.5, 0.46, 0.06, 0.045, "white"),
    ],
    "cactus": [
        stroke("0.4,0.55 0.18,0.55 0.16,0.44 0.16,0.32", width=0.14),
        stroke("0.6,0.46 0.82,0.46 0.85,0.36 0.85,0.22", width=0.14),
        block(0.36, 0.06, 0.64, 0.8, 0.14),
        stroke("0.45,0.16 0.45,0.45 0.45,0.72", width=0.02, tone="deep"),
        stroke("0.55,0.16 0.55,0.45 0.55,0.72", width=0.02, tone="deep"),
        polygon("0.24,0.74 0.76,0.74 0.68,0.97 0.32,0.97", tone="bark"),
        block(0.2, 0.7, 0.8, 0.79, tone="bark"),
        oval(0.5, 0.07, 0.07, 0.05, "pale"),
    ],
    "guitar": [
        polygon("0.46,0.06 0.56,0.06 0.55,0.55 0.47,0.55", tone="bark"),
        polygon("0.42,0.02 0.6,0.02 0.57,0.14 0.45,0.14", tone="dark"),
        closed_curve(
            "0.5,0.4 0.68,0.42 0.68,0.56 0.64,0.63 0.8,0.76 0.74,0.94 "
            "0.5,0.98 0.26,0.94 0.2,0.76 0.36,0.63 0.32,0.56 0.32,0.42"
        ),
        oval(0.5, 0.63, 0.09, 0.09, "dark"),
        block(0.38, 0.8, 0.62, 0.85, tone="dark"),
        stroke("0.49,0.1 0.49,0.82", width=0.01, tone="pale"),
        stroke("0.53,0.1 0.53,0.82", width=0.01, tone="pale"),
    ],
    "rocket": [
        closed_curve("0.4,0.82 0.5,1.0 0.6,0.82", tone="flame"),
        polygon("0.33,0.55 0.12,0.82 0.14,0.92 0.36,0.8", tone="deep"),
        polygon("0.67,0.55 0.88,0.82 0.86,0.92 0.64,0.8", tone="deep"),
        closed_curve("0.5,0.02 0.64,0.16 0.7,0.42 0.66,0.7 0.6,0.84 0.4,0.84 0.34,0.7 0.3,0.42 0.36,0.16"),
        closed_curve("0.5,0.02 0.62,0.13 0.66,0.26 0.5,0.29 0.34,0.26 0.38,0.13", tone="second"),
        oval(0.5, 0.44, 0.11, 0.11, "pale"),
        oval(0.5, 0.44, 0.075, 0.075, "glass"),
        block(0.46, 0.66, 0.54, 0.88, 0.03, "second"),
    ],
    "umbrella": [
        stroke("0.5,0.1 0.5,0.6 0.5,0.84 0.58,0.93 0.68,0.84", width=0.045, tone="bark"),
        closed_curve(
            "0.02,0.54 0.1,0.26 0.3,0.1 0.5,0.06 0.7,0.1 0.9,0.26 "
            "0.98,0.54 0.82,0.47 0.66,0.54 0.5,0.47 0.34,0.54 0.18,0.47"
        ),
        closed_curve("0.5,0.07 0.64,0.28 0.66,0.53 0.5,0.47 0.34,0.53 0.36,0.28", tone="second"),
        oval(0.5, 0.06, 0.025, 0.035, "dark"),
    ],
    "robot": [
        block(0.48, 0.01, 0.52, 0.14, tone="dark"),
        oval(0.5, 0.04, 0.045, 0.04, "flame"),
        block(0.06, 0.5, 0.2, 0.76, 0.05, "deep"),
        block(0.8, 0.5, 0.94, 0.76, 0.05, "deep"),
        block(0.32, 0.82, 0.46, 0.97, 0.03, "deep"),
        block(0.54, 0.82, 0.68, 0.97, 0.03, "deep"),
        block(0.2, 0.46, 0.8, 0.86, 0.06),
        block(0.26, 0.11, 0.74, 0.45, 0.07),
        *eye(0.4, 0.27, 0.065),
        *eye(0.6, 0.27, 0.065),
        block(0.4, 0.36, 0.6, 0.4, tone="dark"),
        block(0.32, 0.54, 0.68, 0.74, 0.03, "second"),
        oval(0.42, 0.64, 0.04, 0.04, "flame"),
        oval(0.56, 0.64, 0.04, 0.04, "pale"),
    ],
}
"""Kinds of subjects."""

PLURALS = {"star": "stars", "heart": "hearts", "ball": "balls", "leaf": "leaves", "bell": "bells", "gem": "gems"}
SMALL_KINDS: dict[str, list[ShapePart]] = {
    "star": [star(0.5, 0.53, 0.49, 0.21, 5)],
    "heart": [
        closed_curve(
            "0.5,0.28 0.52,0.24 0.66,0.1 0.86,0.12 0.96,0.3 0.9,0.54 0.7,0.76 0.52,0.92 "
            "0.5,0.93 0.48,0.92 0.3,0.76 0.1,0.54 0.04,0.3 0.14,0.12 0.34,0.1 0.48,0.24"
        )
    ],
    "ball": [
        oval(0.5, 0.5, 0.44, 0.44),
        closed_curve("0.06,0.5 0.3,0.4 0.7,0.4 0.94,0.5 0.7,0.6 0.3,0.6", tone="second"),
    ],
    "leaf": [
        closed_curve("0.5,0.02 0.78,0.26 0.8,0.6 0.52,0.86 0.22,0.6 0.22,0.26"),
        stroke("0.5,0.12 0.5,0.6 0.5,0.98", width=0.05, tone="deep"),
    ],
    "bell": [
        oval(0.5, 0.87, 0.1, 0.09, "dark"),
        closed_curve("0.5,0.08 0.7,0.16 0.76,0.5 0.94,0.8 0.5,0.84 0.06,0.8 0.24,0.5 0.3,0.16"),
        block(0.08, 0.74, 0.92, 0.84, 0.04, "second"),
    ],
    "gem": [
        polygon("0.26,0.16 0.74,0.16 0.96,0.4 0.5,0.94 0.04,0.4"),
        polygon("0.34,0.4 0.66,0.4 0.5,0.94", tone="second"),
        polygon("0.26,0.16 0.5,0.16 0.34,0.4 0.04,0.4", tone="second"),
    ],
}
"""Kinds of small objects."""


class Fit(NamedTuple):
    """Positions of extras on objects of a kind.

    `head` is the centre (x, y) of a hat's brim and its width. `waist` is the top and bottom of a sash.
    """

    head: tuple[float, float, float]
    waist: tuple[float, float]


FITS = {
    "cat": Fit((0.5, 0.17, 0.4), (0.6, 0.72)),
    "owl": Fit((0.5, 0.15, 0.44), (0.56, 0.69)),
    "fish": Fit((0.6, 0.2, 0.32), (0.44, 0.57)),
    "teapot": Fit((0.52, 0.24, 0.34), (0.52, 0.66)),
    "boat": Fit((0.5, 0.08, 0.3), (0.76, 0.88)),
    "car": Fit((0.5, 0.22, 0.4), (0.5, 0.62)),
    "house": Fit((0.5, 0.12, 0.36), (0.48, 0.58)),
    "tree": Fit((0.5, 0.08, 0.3), (0.46, 0.58)),
    "mushroom": Fit((0.5, 0.08, 0.42), (0.36, 0.49)),
    "cactus": Fit((0.5, 0.09, 0.34), (0.5, 0.63)),
    "guitar": Fit((0.51, 0.05, 0.3), (0.72, 0.84)),
    "rocket": Fit((0.5, 0.08, 0.3), (0.54, 0.66)),
    "umbrella": Fit((0.5, 0.1, 0.32), (0.26, 0.39)),
    "robot": Fit((0.5, 0.12, 0.46), (0.48, 0.58)),
}
# Extras that a kind has by nature, or that do not fit it.
UNSUITABLE_EXTRAS: dict[str, str] = {"car": "wheels", "fish": "wheels", "umbrella": "wheels", "owl": "wings"}


# The right wing.
_WING = "0.72,0.5 0.88,0.16 1.06,0.1 1.11,0.3 1.03,0.38 1.06,0.52 0.96,0.55 0.92,0.67 0.74,0.64"
_WING_INSIDE = "0.79,0.5 0.91,0.26 1.0,0.26 0.94,0.42 0.87,0.55"


def _extra_parts(extra: str, kind: str) -> list[ShapePart]:
    """Return the shapes of an extra (a hat, wings ...), placed where this kind of object wears it.

    Coordinates are those of the object's unit square.
    """
    x, y, wide = FITS[kind].head

    def on_head(across: float, down: float) -> Point:
        return x + across * wide, y + down * wide

    def left_wing(px: float, py: float) -> Point:
        return 0.5 - (px - 0.5), py

    def right_wing(px: float, py: float) -> Point:
        return 0.5 + (px - 0.5), py

    if extra == "crown":
        return [
            polygon("-0.5,0 -0.5,-0.62 -0.25,-0.3 0,-0.62 0.25,-0.3 0.5,-0.62 0.5,0", at=on_head),
            block(x - wide / 2, y - 0.14 * wide, x + wide / 2, y + 0.02, tone="second"),
        ]
    if extra == "hat":
        return [
            closed_curve("-0.3,0 -0.16,-0.55 0,-1 0.16,-0.55 0.3,0", at=on_head),
            block(x - 0.28 * wide, y - 0.17 * wide, x + 0.28 * wide, y - 0.03 * wide, tone="pale"),
            oval(x, y + 0.01, 0.62 * wide, 0.11 * wide),
        ]
    if extra == "wings":
        tones = {_WING: "main", _WING_INSIDE: "second"}
        return [closed_curve(points, tones[points], at) for at in (left_wing, right_wing) for points in tones]
    if extra == "wheels":
        return [part for px in (0.3, 0.7) for part in (oval(px, 0.98, 0.12, 0.12), oval(px, 0.98, 0.05, 0.05, "pale"))]
    raise ValueError(f"unknown extra {extra!r}")


@cache
def build_parts(kind: str, worn_by: str = "") -> list[ShapePart]:
    """Return the parts of a kind of object. With `worn_by`, `kind` is an extra worn by an object of that kind."""
    if worn_by:
        return _extra_parts(kind, worn_by)
    return SUBJECT_KINDS.get(kind) or SMALL_KINDS[kind]
