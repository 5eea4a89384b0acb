"""Mean human rating of all edits, estimated from few ratings and many scores.

Prediction-powered inference (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) of a mean:

    mean = w * mean(score of the unrated) + mean(rating - w * score of the rated)

This is unbiased for every w. The w with the least variance is estimated. With w = 0, the result is the mean of the
ratings alone. Scores may have any unit, and bad scores hardly widen the interval.
Intervals use Student's t, corrected for skewness.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from creval.stats.intervals import NO_ESTIMATE, Estimate, cluster_sums, student_quantile
from creval.stats.score_table import Floats, Integers

MIN_RATED = 30
"""Fewest rated edits for a reliable interval."""
MIN_DEVIATING_RATINGS = 5
"""Fewest ratings that must differ from the most common one; otherwise the variance cannot be estimated."""


class PredictedMean(NamedTuple):
    """A model's mean rating in percent, with scores of this `weight` and from ratings alone (`classical`)."""

    model: str
    predicted: Estimate
    classical: Estimate
    rated: int
    scored: int
    weight: float
    unreliable_reason: str = ""

    @property
    def interval_reduction(self) -> float | None:
        """The share by which the scores narrow the interval; None without intervals."""
        one, other = self.predicted.width, self.classical.width
        return None if one is None or not other else 1 - one / other


def unreliable_reason(ratings: Floats) -> str:
    """Return why an interval from these ratings would be unreliable; an empty string if it is reliable."""
    if len(ratings) < MIN_RATED:
        return f"only {len(ratings)} rated edits, at least {MIN_RATED} are needed"
    _, sizes = np.unique(np.round(ratings, 9), return_counts=True)
    unlike = len(ratings) - int(sizes.max())
    if unlike < MIN_DEVIATING_RATINGS:
        return f"all but {unlike} of {len(ratings)} ratings are the same"
    return ""


def predict_mean_rating(model: str, ratings: Floats, scores: Floats, clusters: Integers) -> PredictedMean:
    """Estimate a model's mean rating over all edits with a score. `ratings` is NaN for unrated edits."""
    rated = ~np.isnan(ratings)
    weight = optimal_score_weight(ratings[rated], scores[rated], scores[~rated])
    why = unreliable_reason(ratings[rated])
    both = (prediction_powered_mean(ratings, scores, clusters, w) for w in (weight, 0.0))
    predicted, classical = (Estimate(found.value) if why else found for found in both)
    return PredictedMean(model, predicted, classical, int(rated.sum()), len(ratings), weight, why)


def optimal_score_weight(ratings: Floats, scores: Floats, others: Floats) -> float:
    """Return the weight of the scores that minimizes the variance."""
    if len(ratings) < 3 or len(others) < 2:
        return 0.0
    spread = float(np.concatenate([scores, others]).var(ddof=1))
    if spread <= 1e-12 * float(np.abs(scores).max(initial=0.0)) ** 2:
        return 0.0
    together = float(np.cov(ratings, scores)[0, 1])
    return together / (spread * (1 + len(ratings) / len(others)))


def prediction_powered_mean(ratings: Floats, scores: Floats, clusters: Integers, weight: float) -> Estimate:
    """Return the mean over all edits for a weight of the scores, with its interval."""
    rated = ~np.isnan(ratings)
    if not rated.any():
        return NO_ESTIMATE
    left = (ratings - weight * scores)[rated]
    others = weight * scores[~rated]
    value = float(left.mean()) + (float(others.mean()) if weight else 0.0)
    lost = 2 if weight else 1  # degrees of freedom: the mean, and the weight
    if len(left) <= lost:
        return Estimate(value)
    influence = np.zeros(len(ratings))
    influence[rated] = (left - left.mean()) / math.sqrt(len(left) * (len(left) - lost))
    if weight:
        influence[~rated] = (others - others.mean()) / math.sqrt(len(others) * (len(others) - 1))
    together = cluster_sums(influence, clusters)
    freedom = max(len(np.unique(clusters[rated])) - lost, 1)
    times, variance = student_quantile(freedom), float((together**2).sum())
    if variance == 0:
        return Estimate(value, value, value)
    reach = times * math.sqrt(variance)
    # Correct for skewness: if few ratings are high, the mean is more often too low than too high (Johnson, 1978).
    shift = float((together**3).sum()) / (6 * variance) * (1 + 2 * times**2)
    return Estimate(value, value + shift - reach, value + shift + reach)
