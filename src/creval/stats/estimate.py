"""A value with its interval, and intervals that need no resamples."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from creval.stats.scorecard import number
from creval.stats.table import Floats, Integers

_NORMAL = NormalDist().inv_cdf(0.975)


class Estimate(NamedTuple):
    """A value with its 95 % interval; none of it where there is nothing to tell it from."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        return None if self.low is None or self.high is None else self.high - self.low


NOTHING = Estimate(None)


def estimate(value: float, ends: tuple[float, float]) -> Estimate:
    """An estimate from numbers that may be NaN."""
    return Estimate(number(value), number(ends[0]), number(ends[1]))


def student(freedom: float) -> float:
    """The 97.5 % quantile of Student's distribution: how many standard errors reach to the ends of
    a 95 % interval.

    Fisher and Cornish's expansion (1960) around the normal quantile; from 5 degrees of freedom on
    it is right to 0.01, from 20 on to 0.00002. SciPy takes longer to import than a command to run.

    >>> round(student(28), 4)
    2.0484
    """
    z = _NORMAL
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def share(hits: Floats, units: Integers) -> Estimate:
    """A share of hits (1), misses (0) and ties (0.5), with Wilson's interval.

    What belongs to one unit counts together, so that many comparisons of few samples do not make
    the interval narrow. It holds at 0 and at 1 too.
    """
    if not len(hits):
        return NOTHING
    value = float(hits.mean())
    _, place = np.unique(units, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights=hits - value)
    groups = len(sums)
    if groups < 2:
        return Estimate(value)
    # As the jackknife has it, which errs on the safe side where groups are few.
    variance = float((sums**2).sum()) / len(hits) ** 2 * (groups / (groups - 1)) ** 2
    size = min(float(len(hits)), value * (1 - value) / variance) if variance > 0 else float(groups)
    z = student(max(groups - 1, 5))
    middle = (value + z * z / (2 * size)) / (1 + z * z / size)
    reach = z * math.sqrt(value * (1 - value) / size + (z / (2 * size)) ** 2) / (1 + z * z / size)
    return Estimate(
        value, min(max(middle - reach, 0.0), value), max(min(middle + reach, 1.0), value)
    )
