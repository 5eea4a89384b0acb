"""Estimates with intervals, and intervals computed without resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from creval.stats.score_table import Floats, Integers

T = TypeVar("T", float, Floats)
_MIN_CLUSTERS = 5  # fewest clusters for an interval
_MAX_INTEGRATED = 1000  # degrees of freedom beyond which the expansion is exact to the last digits


@dataclass(frozen=True)
class Estimate:
    """Value with its 95 % interval; None if it cannot be estimated."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        return self.low, self.high

    @property
    def width(self) -> float | None:
        return None if self.low is None or self.high is None else self.high - self.low

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, for JSON."""
        return dict(vars(self))


NO_ESTIMATE = Estimate(None)


def none_if_nan(value: float) -> float | None:
    """Return the value, or None instead of NaN."""
    return None if math.isnan(value) else float(value)


def make_estimate(value: float, interval: tuple[float, float]) -> Estimate:
    """Return an estimate from numbers that may be NaN."""
    return Estimate(none_if_nan(value), none_if_nan(interval[0]), none_if_nan(interval[1]))


def cluster_sums(values: Floats, clusters: Integers | Sequence[str]) -> Floats:
    """Return the sum of the values of each cluster."""
    place = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums: Floats = np.bincount(place.reshape(-1), weights=values).astype(np.float64)
    return sums


def clustered_mean(values: Floats, clusters: Sequence[str]) -> Estimate:
    """Return a mean with Student's interval for clustered values. No interval with fewer than five clusters."""
    if not len(values):
        return NO_ESTIMATE
    middle = float(values.mean())
    sums = cluster_sums(values - middle, clusters)
    count = len(sums)
    if count < _MIN_CLUSTERS:
        return Estimate(middle)
    error = (float((sums**2).sum()) * count / (count - 1)) ** 0.5 / len(values)
    reach = student_quantile(count - 1) * error
    return Estimate(middle, middle - reach, middle + reach)


@lru_cache(maxsize=1024)
def student_quantile(degrees_of_freedom: float) -> float:
    """Return the 97.5 % quantile of Student's distribution: the radius of a 95 % interval in standard errors.

    Solved by Newton's method on the integral of the density. SciPy would take longer to import than a command to run.

    >>> round(student_quantile(28), 4)
    2.0484
    """
    quantile = float(student_from_normal(Z_975, degrees_of_freedom))
    if degrees_of_freedom > _MAX_INTEGRATED:
        return quantile
    gammas = math.lgamma((degrees_of_freedom + 1) / 2) - math.lgamma(degrees_of_freedom / 2)
    peak = math.exp(gammas) / math.sqrt(math.pi * degrees_of_freedom)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    for _ in range(10):
        places = np.append(quantile * (nodes + 1) / 2, quantile)
        density = peak * (1 + places**2 / degrees_of_freedom) ** (-(degrees_of_freedom + 1) / 2)
        quantile -= float((weights @ density[:-1] * quantile / 2 - 0.475) / density[-1])
    return quantile


def student_from_normal(z: T, degrees_of_freedom: T) -> T:
    """Return Student's quantile by expansion around the normal quantile `z` (Fisher and Cornish, 1960).

    The error is at most 1e-6 from 20 degrees of freedom on.
    """
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
    """Return a share of hits (1), misses (0) and ties (0.5) with Wilson's interval, which is valid at 0 and 1 too.

    The interval is for clustered values, so that many comparisons of few samples do not narrow it.
    """
    if not len(hits):
        return NO_ESTIMATE
    value = float(hits.mean())
    sums = cluster_sums(hits - value, clusters)
    groups = len(sums)
    if groups < 2:
        return Estimate(value)
    # The jackknife's variance, which is conservative with few groups.
    variance = float((sums**2).sum()) / len(hits) ** 2 * (groups / (groups - 1)) ** 2
    size = min(float(len(hits)), value * (1 - value) / variance) if variance > 0 else float(groups)
    low, high = wilson_interval(value * size, size, student_quantile(max(groups - 1, 5)))
    return Estimate(value, min(low, value), max(high, value))


Z_975 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


class Proportion(NamedTuple):
    """Hits and total, with their share and its 95 % interval.

    Hits and total of clustered answers are not whole numbers.
    """

    hits: float
    total: float

    @property
    def value(self) -> float | None:
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Wilson's interval, which is valid near 0 and 1 too."""
        return wilson_interval(self.hits, self.total) if self.total else (None, None)


def wilson_interval(hits: float, total: float, z: float = Z_975) -> tuple[float, float]:
    """Return Wilson's score interval of a share.

    >>> tuple(round(end, 4) for end in wilson_interval(0, 10))
    (0.0, 0.2775)
    """
    share = hits / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
