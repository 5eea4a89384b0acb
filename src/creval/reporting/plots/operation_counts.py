"""Plot of the atomic operations in a built benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from creval.reporting.plots import canvas
from creval.reporting.plots.names import escape_plot_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR_PITCH = 0.19  # inches from one bar to the next


@canvas.plot_style()
def operation_counts(counts: Mapping[str, Mapping[str, int]], *, about: str = "") -> Figure:
    """Draw a bar per operation, including unused ones. Operations of a category share a colour."""
    total = sum(sum(group.values()) for group in counts.values())
    made, body = canvas.make_figure(
        "Atomic operations",
        f"{about}{total:,} atomic instructions. Bars: number of instructions per operation. After the name of a "
        "category: its share of all instructions.",
        operations_height(counts),
    )
    draw_operations(body.subplots(), counts)
    return made


def operations_height(counts: Mapping[str, Mapping[str, int]]) -> float:
    """Return the height in inches that `draw_operations` needs."""
    return (sum(map(len, counts.values())) + len(counts)) * _BAR_PITCH + 0.35


def draw_operations(axes: Axes, counts: Mapping[str, Mapping[str, int]]) -> None:
    """Draw a bar per operation under the name of its category."""
    from matplotlib.ticker import MaxNLocator

    total = sum(sum(group.values()) for group in counts.values())
    most = max((number for group in counts.values() for number in group.values()), default=0)
    up, ticks, names = 0.0, [], []
    for at, (category, group) in enumerate(counts.items()):
        share = 100 * sum(group.values()) / total if total else 0.0
        axes.text(
            0,
            up,
            f" {escape_plot_text(category)}, {share:.1f} %",
            va="center",
            ha="left",
            fontsize=canvas.SMALL_FONT,
            fontweight="bold",
            zorder=2.2,
            bbox={"facecolor": canvas.BACKGROUND, "edgecolor": "none", "pad": 0.5},
        )
        up -= 1
        for name, number in group.items():
            axes.barh(up, number, height=0.72, color=canvas.COLOURS[at % len(canvas.COLOURS)])
            axes.text(number, up, f" {number:,}", va="center", ha="left", fontsize=canvas.SMALL_FONT)
            ticks.append(up)
            names.append(escape_plot_text(name))
            up -= 1
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(up + 0.3, 0.7)
    axes.set_xlim(0, max(most, 1) * 1.12)
    axes.set_xlabel("instructions")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x")
    axes.set_axisbelow(True)
