"""Plots, as figures of matplotlib that can be shown, saved or changed further."""

from creval.report.plots.canvas import COLOURS, caption
from creval.report.plots.complexity import complexity
from creval.report.plots.cost import cost
from creval.report.plots.files import check_suffix, save, svg
from creval.report.plots.forest import forest
from creval.report.plots.groups import groups
from creval.report.plots.operations import operations
from creval.report.plots.plane import plane
from creval.report.plots.radar import radar
from creval.report.plots.repeats import repeats
from creval.report.plots.selection import about
from creval.report.plots.ternary import ternary

__all__ = [
    "COLOURS",
    "about",
    "caption",
    "check_suffix",
    "complexity",
    "cost",
    "forest",
    "groups",
    "operations",
    "plane",
    "radar",
    "repeats",
    "save",
    "svg",
    "ternary",
]
