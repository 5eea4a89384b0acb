"""Scores, intervals, comparisons: everything above one sample, the same for all systems."""

from creval.stats.scorecard import Cell, Difference, Scorecard, scorecard
from creval.stats.table import ScoreTable
from creval.stats.tabulate import tabulate

__all__ = ["Cell", "Difference", "ScoreTable", "Scorecard", "scorecard", "tabulate"]
