"""Plots, as figures of matplotlib that can be shown, saved or changed further."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.errors import CrevalError
from creval.report.text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.stats.scorecard import Cell, Scorecard
    from creval.stats.sensitivity import Sensitivity

COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#555555",
    "#7A3E9D", "#8C5A2B",
)  # fmt: skip
"""Told apart by colour-blind people too (after Okabe and Ito), and in this order in grey."""
_SUFFIXES = (".svg", ".png", ".pdf")


def figure(width: float = 7.0, height: float = 5.0) -> Figure:
    """An empty figure that needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(made: Figure, path: str | Path) -> None:
    """Write a plot as SVG, PNG or PDF, by the file's suffix."""
    path = Path(path)
    if path.suffix.casefold() not in _SUFFIXES:
        raise CrevalError(f"{path}: give a file that ends in .svg, .png or .pdf.")
    path.parent.mkdir(parents=True, exist_ok=True)
    made.savefig(path, dpi=200)


def name(text: str, most: int = 28) -> str:
    """A model's name on a plot: harmless, and not too long."""
    text = visible(text).replace("$", r"\\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def ternary(found: Sensitivity) -> Figure:
    """Who is best under which weights of three metrics: a corner is one metric alone."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    if len(found.metrics) != 3:
        raise CrevalError("a plot of all weights is for three metrics.")
    made = figure(7.2, 4.2)
    axes = made.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    high = np.sqrt(3) / 2
    up, across = np.mgrid[0:high:700j, 0:1:800j]
    top = up / high
    right = across - top / 2
    weights = np.stack([top, 1 - top - right, right], axis=-1)
    best = (weights @ found.values.T).argmax(axis=-1)
    tones = np.array([to_rgb(COLOURS[at % len(COLOURS)]) for at in range(len(found.systems))])
    picture = np.dstack([tones[best], (weights >= 0).all(axis=-1)])
    axes.imshow(picture, extent=(0, 1, 0, high), origin="lower", interpolation="antialiased")
    x, y = _corner(np.eye(3))
    axes.plot([*x, x[0]], [*y, y[0]], color="black", linewidth=1)
    for at, away in enumerate((0.06, -0.06, -0.06)):
        axes.text(x[at], y[at] + away, f"{found.metrics[at]} alone", ha="center", va="center")
    (own_x,), (own_y,) = _corner(np.array([found.own]))
    axes.plot(own_x, own_y, marker="*", markersize=15, color="white", markeredgecolor="black")
    words = " : ".join(f"{10 * weight:.3g}" for weight in found.own)
    axes.annotate(
        f"as given, {words}", (own_x, own_y), (12, -4), textcoords="offset points", fontsize=9,
        bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": "none", "alpha": 0.85},
    )  # fmt: skip
    axes.set_xlim(-0.12, 1.12)
    axes.set_ylim(-0.12, high + 0.12)
    shown = [at for at, system in enumerate(found.systems) if found.wins[system] > 0]
    labels = [
        f"{name(found.systems[n])} ({100 * found.wins[found.systems[n]]:.0f} %)" for n in shown
    ]
    patches = [Patch(color=COLOURS[n % len(COLOURS)], label=label)
               for n, label in zip(shown, labels, strict=True)]  # fmt: skip
    axes.legend(handles=patches, title="best (share of all weights)", frameon=False,
                loc="center left", bbox_to_anchor=(1, 0.55))  # fmt: skip
    return made


def _corner(weights: Any) -> tuple[Any, Any]:
    """Weights of three as places in a triangle: the first on top, the second left, the third
    right."""
    return 0.5 * weights[:, 0] + weights[:, 2], weights[:, 0] * np.sqrt(3) / 2


def plane(card: Scorecard, follow: str = "IF", keep: str = "VC") -> Figure:
    """How far each model follows instructions, and how much it keeps, with their intervals."""
    made = figure(6.4, 4.8)
    axes = made.add_subplot()
    for at, system in enumerate(card.systems):
        across, up = card.cell(system, follow), card.cell(system, keep)
        if across.value is None or up.value is None:
            continue
        colour, marker = COLOURS[at % len(COLOURS)], "osD^v<>pPX"[at % 10]
        axes.errorbar(
            across.value, up.value, xerr=_reach(across), yerr=_reach(up), fmt="none", ecolor=colour,
            capsize=3,
        )  # fmt: skip
        axes.plot(
            across.value, up.value, color=colour, marker=marker, linestyle="", markersize=8,
            label=name(system),
        )  # fmt: skip
    axes.set_xlabel(f"{card.table.card.metric(follow).label} ({follow})")
    axes.set_ylabel(f"{card.table.card.metric(keep).label} ({keep})")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return made


def _reach(cell: Cell) -> list[list[float]] | None:
    """From a value to the ends of its interval, as matplotlib wants it."""
    if cell.value is None or cell.low is None or cell.high is None:
        return None
    return [[max(0.0, cell.value - cell.low)], [max(0.0, cell.high - cell.value)]]
