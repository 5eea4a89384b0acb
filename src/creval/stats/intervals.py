"""A value with its interval, and intervals that need no resamples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from creval.stats.score_table import Floats, Integers
from creval.stats.scorecard import none_if_nan

T = TypeVar("T", float, Floats)
_MIN_CLUSTERS = 5  # values that an interval is told from


class Estimate(NamedTuple):
    """A value with its 95 % interval; none of it where there is nothing to tell it from."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        return self.low, self.high

    @property
    def width(self) -> float | None:
        return None if self.low is None or self.high is None else self.high - self.low


NO_ESTIMATE = Estimate(None)


def make_estimate(value: float, interval: tuple[float, float]) -> Estimate:
    """An estimate from numbers that may be NaN."""
    return Estimate(none_if_nan(value), none_if_nan(interval[0]), none_if_nan(interval[1]))


def clustered_mean(values: Floats, clusters: Sequence[str]) -> Estimate:
    """The mean of values with Student's interval; those of one unit count together, because they
    tell the same. Fewer than five units have none."""
    if not len(values):
        return NO_ESTIMATE
    middle = float(values.mean())
    place = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(place.reshape(-1), weights=values - middle)
    count = len(sums)
    if count < _MIN_CLUSTERS:
        return Estimate(middle)
    error = (float((sums**2).sum()) * count / (count - 1)) ** 0.5 / len(values)
    reach = student_quantile(count - 1) * error
    return Estimate(middle, middle - reach, middle + reach)


def student_quantile(degrees_of_freedom: float) -> float:
    """The 97.5 % quantile of Student's distribution: how many standard errors reach to the ends of a 95 % interval.

    Computed by expansion around the normal quantile: from 4 degrees of freedom on the error is below
    0.001, from 20 on below 0.000001. SciPy takes longer to import than a command to run.

    >>> round(student_quantile(28), 4)
    2.0484
    """
    return float(student_from_normal(Z_975, degrees_of_freedom))


def student_from_normal(z: T, degrees_of_freedom: T) -> T:
    """The quantile of Student's distribution where the normal one's is z, of a number or of many
    (Fisher and Cornish, 1960)."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    found = terms[0]
    for power, term in enumerate(terms[1:], 1):
        found = found + term / degrees_of_freedom**power
    return found


def clustered_proportion(hits: Floats, clusters: Integers) -> Estimate:
    """A share of hits (1), misses (0) and ties (0.5), with Wilson's interval.

    What belongs to one unit counts together, so that many comparisons of few samples do not make
    the interval narrow. It holds at 0 and at 1 too.
    """
    if not len(hits):
        return NO_ESTIMATE
    value = float(hits.mean())
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=hits - value)
    groups = len(sums)
    if groups < 2:
        return Estimate(value)
    # As the jackknife has it, which errs on the safe side where groups are few.
    variance = float((sums**2).sum()) / len(hits) ** 2 * (groups / (groups - 1)) ** 2
    size = min(float(len(hits)), value * (1 - value) / variance) if variance > 0 else float(groups)
    low, high = wilson_interval(value * size, size, student_quantile(max(groups - 1, 5)))
    return Estimate(value, min(low, value), max(high, value))


Z_975 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


class Proportion(NamedTuple):
    """Hits of a total, with their share and its 95 % interval. Both are None if the total is 0.

    Neither has to be whole: clustered answers count for fewer.
    """

    hits: float
    total: float

    @property
    def value(self) -> float | None:
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Wilson's interval, which holds also where nearly all or nearly none are."""
        return wilson_interval(self.hits, self.total) if self.total else (None, None)


def wilson_interval(hits: float, total: float, z: float = Z_975) -> tuple[float, float]:
    """Wilson's score interval of a share.

    >>> tuple(round(end, 4) for end in wilson_interval(0, 10))
    (0.0, 0.2775)
    """
    share = hits / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
