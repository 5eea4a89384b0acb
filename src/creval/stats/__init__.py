"""Scores, intervals, comparisons: everything above one sample, the same for all systems."""

from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Cell, Difference, Scorecard, scorecard

__all__ = ["Cell", "Difference", "ScoreTable", "Scorecard", "scorecard"]
