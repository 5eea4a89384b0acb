"""Aggregated scores, intervals and comparisons of models."""

from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Difference, Scorecard, ScoreEstimate, build_scorecard

__all__ = ["Difference", "ScoreEstimate", "ScoreTable", "Scorecard", "build_scorecard"]
