"""Confidence sequences of paired differences: intervals that stay valid if they are checked after every sample.

Within each stratum, samples come in random order. The weighted difference of two models' means has the variance
`v = sum(share² (1 - seen / size) s² / seen)`. The factor in brackets is the finite-population correction. It applies
only if the claim is about the benchmark's own samples.

However the samples are spread over strata, the error of the mean divided by `v` behaves like a Brownian motion at the
time `1 / v` (the covariance of two looks is the variance at the later one). For a Brownian motion, Robbins and Siegmund
(1970) give a boundary. The probability that it is ever crossed after a first look is exactly the chosen one:

    |error| < sqrt(v (a² + log(time / first time))),    1 - Φ(a) + a φ(a) = risk on one side.

The result is asymptotic: it assumes a nearly normal mean. Therefore:

- there is no look before `MIN_SAMPLES` samples,
- the boundary is widened by the ratio of Student's quantile to the normal one,
- the variance is at least that of a set in which one sample is half the range away from the other samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.stats.intervals import student_from_normal
from creval.stats.score_table import Floats, Integers

MIN_SAMPLES = 36
"""Samples before the first look; with uneven strata, the effective number."""
MIN_DEGREES_OF_FREEDOM = 18
"""Degrees of freedom before the first look."""
_PRIOR_SAMPLES = 3.0  # weight of the pooled variance in each stratum, in samples

Booleans = NDArray[np.bool_]
StratumWeights = Callable[[Floats], Floats]


class DifferenceBounds(NamedTuple):
    """Differences (first minus second model) and the radius of their bounds.

    The radius is infinite if there are too few samples for a bound yet. The axes are run, first, second.
    """

    value: Floats
    radius: Floats

    @property
    def low(self) -> Floats:
        return self.value - self.radius

    @property
    def high(self) -> Floats:
        return self.value + self.radius


class ConfidenceSequence:
    """Differences between all pairs of models, updated sample by sample.

    Several runs are computed in parallel, on the first axis. A run is one order of the samples, or one simulated set of
    samples. `sizes` is the number of samples of each stratum. `stratum_weights` computes the weights of strata from
    their sizes (last axis). `value_range` is the range of the values. With `finite_population` the differences are
    those on exactly these samples, otherwise those in the population from which the samples were drawn.
    """

    def __init__(
        self,
        sizes: Floats,
        models: int,
        *,
        stratum_weights: StratumWeights,
        value_range: float,
        finite_population: bool,
        runs: int = 1,
    ) -> None:
        self.models, self.finite_population = models, finite_population
        pairs = list(combinations(range(models), 2))
        self._first: Integers = np.array([pair[0] for pair in pairs], dtype=np.int64)
        self._second: Integers = np.array([pair[1] for pair in pairs], dtype=np.int64)
        shape = (runs, len(pairs), len(sizes))
        self._sizes: Floats = np.broadcast_to(sizes, shape).astype(np.float64)
        self._counts, self._sums, self._squares = (np.zeros(shape) for _ in range(3))
        self._stratum_weights, self._value_range = stratum_weights, value_range
        self._runs = np.arange(runs)

    def add(self, stratum: Integers, values: Floats, active: Booleans) -> None:
        """Add a sample to each run: its stratum, and each model's value.

        If a model's value is NaN, the sample does not count for the pairs with this model.
        """
        gap = values[:, self._first] - values[:, self._second]
        live = active[:, self._first] & active[:, self._second]
        here = live & ~np.isnan(gap)
        gap = np.where(here, gap, 0.0)
        at = (self._runs, slice(None), stratum)
        self._sizes[at] -= live & ~here
        self._counts[at] += here
        self._sums[at] += gap
        self._squares[at] += gap * gap

    def bounds(self, alpha: Floats) -> DifferenceBounds:
        """Return all differences, with bounds.

        The risk that a true difference is ever beyond its bound on one side is at most `alpha` (axis run).
        """
        seen, sizes = self._counts, self._sizes
        some = np.maximum(seen, 1.0)
        mean = self._sums / some
        within = np.maximum(self._squares - self._sums * mean, 0.0)
        free = np.maximum(seen - 1.0, 0.0)
        freedom = free.sum(axis=-1)
        total = np.maximum(seen.sum(axis=-1), 1.0)
        pooled = within.sum(axis=-1) / np.maximum(freedom, 1.0)
        square = (within + _PRIOR_SAMPLES * pooled[..., None]) / (free + _PRIOR_SAMPLES)
        share = self._stratum_weights(sizes)
        weight = share * share / some
        if self.finite_population:
            weight = weight * (1.0 - np.minimum(seen / np.maximum(sizes, 1.0), 1.0))
        weights = weight.sum(axis=-1)
        least = (self._value_range / 2) ** 2 / total
        variance = np.maximum((weight * square).sum(axis=-1), weights * least)
        worth = 1.0 / np.maximum(weights, 1e-12)
        unseen = ((seen == 0) & (sizes > 0)).any(axis=-1)
        early = unseen | (worth < MIN_SAMPLES) | (freedom < MIN_DEGREES_OF_FREEDOM)
        late = np.log(np.maximum(worth / MIN_SAMPLES, 1.0))
        reach = np.sqrt(_squared_initial_boundary(alpha)[:, None] + late)
        off = np.sqrt(variance) * student_from_normal(reach, np.maximum(freedom, MIN_DEGREES_OF_FREEDOM))
        off = np.where(early, np.inf, off)
        whole = (seen == sizes).all(axis=-1) & (sizes.sum(axis=-1) > 0)
        if self.finite_population:
            off = np.where(whole, 0.0, off)
        return self._pair_matrix((share * mean).sum(axis=-1), off)

    def _pair_matrix(self, value: Floats, radius: Floats) -> DifferenceBounds:
        """Return the values of pairs as matrices that contain each pair in both directions."""
        shape = (len(value), self.models, self.models)
        values, offs = np.zeros(shape), np.zeros(shape)
        values[:, self._first, self._second] = value
        values[:, self._second, self._first] = -value
        offs[:, self._first, self._second] = offs[:, self._second, self._first] = radius
        return DifferenceBounds(values, offs)


def _squared_initial_boundary(alpha: Floats) -> Floats:
    found, place = np.unique(alpha, return_inverse=True)
    return np.array([initial_boundary(float(one)) ** 2 for one in found])[place.reshape(-1)]


@lru_cache(maxsize=1024)
def initial_boundary(alpha: float) -> float:
    """Return the initial boundary in standard errors, for a one-sided risk `alpha` of ever crossing it."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        density = math.exp(-middle * middle / 2) / math.sqrt(2 * math.pi)
        crossed = math.erfc(middle / math.sqrt(2)) / 2 + middle * density
        low, high = (middle, high) if crossed > alpha else (low, middle)
    return high
