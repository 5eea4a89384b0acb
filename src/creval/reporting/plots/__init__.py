"""Plots as matplotlib figures that can be shown, saved or modified."""

from creval.reporting.plots.candidate_curve import best_of
from creval.reporting.plots.canvas import COLOURS, caption
from creval.reporting.plots.complexity import complexity
from creval.reporting.plots.cost import cost
from creval.reporting.plots.distribution import distribution
from creval.reporting.plots.files import check_suffix, figure_svg, save_figure
from creval.reporting.plots.forest import forest
from creval.reporting.plots.groups import groups
from creval.reporting.plots.operation_counts import operation_counts
from creval.reporting.plots.plane import plane
from creval.reporting.plots.radar import radar
from creval.reporting.plots.repeat_variation import repeat_variation
from creval.reporting.plots.selection import describe_basis
from creval.reporting.plots.side_by_side_scores import sources
from creval.reporting.plots.ternary import ternary

__all__ = [
    "COLOURS",
    "best_of",
    "caption",
    "check_suffix",
    "complexity",
    "cost",
    "describe_basis",
    "distribution",
    "figure_svg",
    "forest",
    "groups",
    "operation_counts",
    "plane",
    "radar",
    "repeat_variation",
    "save_figure",
    "sources",
    "ternary",
]
