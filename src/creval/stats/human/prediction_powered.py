"""What people would say of all edits, from few ratings and many scores.

Prediction-powered inference (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453) of a mean: of the
unrated edits' scores, weighted, and of what the ratings of the others differ from theirs,

    mean = w * mean(score of the unrated) + mean(rating - w * score of the rated)

which is unbiased for every w. The w that makes its variance least is estimated; w = 0 is the mean
of the ratings alone. A score in any unit will do, and one that is bad costs next to nothing.
Intervals are Student's, moved towards where ratings are rare.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from creval.stats.intervals import NOTHING, Estimate, student
from creval.stats.score_table import Floats, Integers

FEWEST_RATED = 30
"""Rated edits below which no interval can be trusted."""
FEWEST_UNLIKE = 5
"""So many ratings must differ from the commonest one: how far rare ones scatter cannot be told."""


class Predicted(NamedTuple):
    """A model's mean rating in percent: with the scores' help, and from the ratings alone.

    `weight` is that of the scores. `doubt` says why no interval can be trusted, if none can.
    """

    model: str
    predicted: Estimate
    classical: Estimate
    rated: int
    scored: int
    weight: float
    doubt: str = ""

    @property
    def narrower(self) -> float | None:
        """The share by which the scores make the interval narrower."""
        one, other = self.predicted.width, self.classical.width
        return None if one is None or not other else 1 - one / other


def doubt(ratings: Floats) -> str:
    """Why no interval from these ratings can be trusted; nothing where one can."""
    if len(ratings) < FEWEST_RATED:
        return f"only {len(ratings)} of the at least {FEWEST_RATED} rated edits that it takes"
    _, sizes = np.unique(np.round(ratings, 9), return_counts=True)
    unlike = len(ratings) - int(sizes.max())
    if unlike < FEWEST_UNLIKE:
        return f"all but {unlike} of {len(ratings)} ratings are the same"
    return ""


def predict(model: str, ratings: Floats, scores: Floats, units: Integers) -> Predicted:
    """A model's mean rating over all edits with a score; a rating is NaN where there is none.

    Edits of one unit (made from one picture) are not independent, and are counted together.
    """
    rated = ~np.isnan(ratings)
    weight = best_weight(ratings[rated], scores[rated], scores[~rated])
    why = doubt(ratings[rated])
    both = (mean_rating(ratings, scores, units, w) for w in (weight, 0.0))
    predicted, classical = (Estimate(found.value) if why else found for found in both)
    return Predicted(model, predicted, classical, int(rated.sum()), len(ratings), weight, why)


def best_weight(ratings: Floats, scores: Floats, others: Floats) -> float:
    """The weight of the scores that makes the variance least."""
    if len(ratings) < 3 or len(others) < 2:
        return 0.0
    spread = float(np.concatenate([scores, others]).var(ddof=1))
    if spread <= 1e-12 * float(np.abs(scores).max(initial=0.0)) ** 2:
        return 0.0
    together = float(np.cov(ratings, scores)[0, 1])
    return together / (spread * (1 + len(ratings) / len(others)))


def mean_rating(ratings: Floats, scores: Floats, units: Integers, weight: float) -> Estimate:
    """The mean over all edits when scores weigh so much, with its interval."""
    rated = ~np.isnan(ratings)
    if not rated.any():
        return NOTHING
    left = (ratings - weight * scores)[rated]
    others = weight * scores[~rated]
    value = float(left.mean()) + (float(others.mean()) if weight else 0.0)
    lost = 2 if weight else 1  # what was estimated: the mean, and the weight
    if len(left) <= lost:
        return Estimate(value)
    # How far each edit pulls the estimate.
    pull = np.zeros(len(ratings))
    pull[rated] = (left - left.mean()) / math.sqrt(len(left) * (len(left) - lost))
    if weight:
        pull[~rated] = (others - others.mean()) / math.sqrt(len(others) * (len(others) - 1))
    _, place = np.unique(units, return_inverse=True)
    together = np.bincount(place.reshape(-1), weights=pull)
    freedom = max(len(np.unique(units[rated])) - lost, 1)
    times, variance = student(freedom), float((together**2).sum())
    if variance == 0:
        return Estimate(value, value, value)
    reach = times * math.sqrt(variance)
    # Where few ratings are high the mean is more often too low than too high (Johnson, 1978).
    moved = float((together**3).sum()) / (6 * variance) * (1 + 2 * times**2)
    return Estimate(value, value + moved - reach, value + moved + reach)
