"""Plots, as figures of matplotlib that can be shown, saved or changed further."""

from creval.report.plots.canvas import COLOURS, caption
from creval.report.plots.complexity import complexity
from creval.report.plots.cost import cost
from creval.report.plots.files import check_suffix, figure_svg, save_figure
from creval.report.plots.forest import forest
from creval.report.plots.groups import groups
from creval.report.plots.operation_counts import operation_counts
from creval.report.plots.plane import plane
from creval.report.plots.radar import radar
from creval.report.plots.repeat_variation import repeat_variation
from creval.report.plots.selection import describe_basis
from creval.report.plots.ternary import ternary

__all__ = [
    "COLOURS",
    "caption",
    "check_suffix",
    "complexity",
    "cost",
    "describe_basis",
    "figure_svg",
    "forest",
    "groups",
    "operation_counts",
    "plane",
    "radar",
    "repeat_variation",
    "save_figure",
    "ternary",
]
