"""Ternary plot: the best model under all weights of three metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.errors import CrevalError
from creval.reporting.plots import canvas
from creval.reporting.plots.label_placement import LabelledPoint, place_labels
from creval.reporting.plots.names import escape_plot_text, model_labels
from creval.stats.score_table import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.stats.weight_sensitivity import Sensitivity

_CORNERS = np.array([[0.5, np.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])
"""Corners where one metric has all the weight: the first at the top, the second left, the third right."""
_TOLERANCE = 1e-9  # values this close count as equal
_STEPS = 40  # grid steps per weight for the hatched area
_WIDE = 1e6  # larger than any lead
_MIN_AREA = 1e-5  # the smallest visible area


@canvas.plot_style()
def ternary(
    sensitivity: Sensitivity, *, people: Mapping[str, Sequence[float]] | None = None, about: str = ""
) -> Figure:
    """Draw which model is best under which weights of three metrics.

    `people` are the weights that agree best with human ratings, by kind of rating.
    """
    if len(sensitivity.metrics) != 3:
        raise CrevalError(
            f"this plot needs three metrics, and there are {len(sensitivity.metrics)}. "
            "`creval sensitivity RUN` prints a table for any number of metrics."
        )
    if len(sensitivity.models) < 2:
        raise CrevalError("this plot needs at least two models.")
    regions = {at: region for at, region in enumerate(best_regions(sensitivity.values)) if len(region)}
    shown = model_labels(sensitivity.models, 19, 2)
    grid = np.array([(a, b, _STEPS - a - b) for a in range(_STEPS + 1) for b in range(_STEPS + 1 - a)]) / _STEPS
    leads = np.clip(sensitivity.lead_low(grid), -_WIDE, _WIDE)
    fields = {at: _region_label(sensitivity, shown, at, region) for at, region in regions.items()}
    made, body = canvas.make_figure(
        f"Best model by the weights of {', '.join(map(escape_plot_text, sensitivity.metrics))}",
        f"{about}Each point is a combination of weights; in a corner, one metric has all the weight. Percent: share of "
        "the triangle. Hatched: no clear lead (the 95 % interval of the best model's lead includes 0). "
        "Models that are best nowhere are not shown. Equal models share an area.",
        4.5,
        alt_text=f"Best: {'; '.join(words.replace(chr(10), ' ') for words in fields.values())}.",
        width=6.2,
    )
    axes: Any = body.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-0.16, 1.16)
    axes.set_ylim(-0.13, 0.98)
    for at, region in regions.items():
        colour = canvas.COLOURS[at % len(canvas.COLOURS)]
        axes.fill(*region.T, facecolor=(colour, 0.32), edgecolor=canvas.FOREGROUND, linewidth=0.9)
    if (leads <= 0).any():
        x, y = (grid @ _CORNERS).T
        hatched = axes.tricontourf(x, y, leads, levels=[-2 * _WIDE, 0], colors="none", hatches=["////"])
        hatched.set_edgecolor((canvas.FOREGROUND, 0.35))
        hatched.set_linewidth(0)
    corners = []
    for metric, (x, y), away in zip(sensitivity.metrics, _CORNERS, (0.05, -0.055, -0.055), strict=True):
        alone = f"only {escape_plot_text(metric)}"
        corners.append(axes.text(x, y + away, alone, ha="center", va="center"))
    marked: list[tuple[str, Sequence[float], str, int]] = [("given weights", sensitivity.own_weights, "*", 14)]
    marked += [(f"people's {escape_plot_text(name)}", weights, "D", 8) for name, weights in (people or {}).items()]
    given = []
    for name, weights, mark, size in marked:
        x, y = (np.array(weights) @ _CORNERS).tolist()
        axes.plot(x, y, marker=mark, markersize=size, color=canvas.FOREGROUND, markeredgecolor=canvas.BACKGROUND)
        given.append(LabelledPoint(x, y, f"{name}, {_format_ratio(weights)}"))
    spots = []
    for at, region in regions.items():
        edges = list(zip(*region.T, *np.roll(region, 1, axis=0).T, strict=True))
        spots.append(LabelledPoint(*_centroid(region), fields[at], edges, _interior_points(region)))
    place_labels(made, axes, [*spots, *given], avoid=corners)
    return made


def _format_ratio(weights: Sequence[float]) -> str:
    return " : ".join(f"{10 * weight:.2g}" for weight in weights)


def _region_label(sensitivity: Sensitivity, shown: Mapping[str, str], at: int, region: Floats) -> str:
    """Return the names of the models that are best in an area, and the area's share of the triangle."""
    equal = np.abs(sensitivity.values - sensitivity.values[at]).max(axis=1) < _TOLERANCE
    several = [shown[name] for name, same in zip(sensitivity.models, equal, strict=True) if same]
    part = 100 * _polygon_area(region) / _polygon_area(_CORNERS)
    decided = (
        ""
        if any(sensitivity.decided_shares[sensitivity.models[n]] for n in np.flatnonzero(equal))
        else ", no clear lead"
    )
    return "\n".join([*several, f"{part:.0f} %{decided}" if part >= 1 else f"under 1 %{decided}"])


def best_regions(values: Floats) -> list[Floats]:
    """Return, for each model, the polygon of weights at which it is best.

    A polygon is empty if the model is nowhere best, or if an earlier model has the same values.
    """
    found = []
    for at, own in enumerate(values):
        corners = np.eye(3)
        first = not (np.abs(values[:at] - own).max(axis=1, initial=0.0) < _TOLERANCE).any()
        for other in values:
            corners = _clip_polygon(corners, own - other)
        large = len(corners) > 2 and _polygon_area(corners @ _CORNERS) > _MIN_AREA
        found.append(corners @ _CORNERS if first and large else np.empty((0, 2)))
    return found


def _clip_polygon(corners: Floats, ahead: Floats) -> Floats:
    """Return the part of a convex polygon in which a difference is not negative."""
    kept: list[Floats] = []
    sides = corners @ ahead
    for at in range(len(corners)):
        here, there = sides[at - 1], sides[at]
        if here * there < 0:
            share = here / (here - there)
            kept.append(corners[at - 1] + share * (corners[at] - corners[at - 1]))
        if there >= 0:
            kept.append(corners[at])
    return np.array(kept).reshape(-1, 3)


def _polygon_area(corners: Floats) -> float:
    x, y = corners.T
    return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)


def _interior_points(corners: Floats, steps: int = 12) -> list[tuple[float, float]]:
    """Return points inside a convex polygon, including its centroid."""
    middle = np.array(_centroid(corners))
    shares = np.arange(steps + 1) / (steps + 1)
    edge = [
        a + (b - a) * t for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True) for t in np.arange(8) / 8
    ]
    return [tuple((middle + (end - middle) * share).tolist()) for end in edge for share in shares]


def _centroid(corners: Floats) -> tuple[float, float]:
    """Return a polygon's centroid."""
    x, y = corners.T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    whole = 3 * cross.sum()
    across, up = (((c + np.roll(c, -1)) * cross).sum() / whole for c in (x, y))
    return float(across), float(up)
