"""Scores, intervals, comparisons: everything above one sample, the same for all systems."""

from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Answer, Difference, Scorecard, build_scorecard

__all__ = ["Answer", "Difference", "ScoreTable", "Scorecard", "build_scorecard"]
