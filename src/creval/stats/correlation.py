"""Pearson's, Spearman's and Kendall's correlation of values and of their resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from creval.stats.aggregate import divide
from creval.stats.intervals import student_quantile
from creval.stats.score_table import Floats, Integers

CorrelationFunction = Callable[[Floats, Floats, Floats], Floats]
"""Correlates x and y, with values weighted by counts (axes draw, value). The result has the axis draw; NaN if x or y
does not vary."""

PERFECT_CORRELATION = 1 - 1e-12
"""Correlations of at least this absolute value count as perfect."""
_ROUNDING_TOLERANCE = 1e-12  # relative to the largest value


def pearson(x: Floats, y: Floats, counts: Floats) -> Floats:
    """Return Pearson's correlation of weighted pairs of values."""
    shares = divide(counts, counts.sum(axis=1, keepdims=True))
    x, y = (_centre(values, shares) for values in (x, y))
    spreads = [(shares * values * values).sum(axis=1) for values in (x, y)]
    return np.clip(divide((shares * x * y).sum(axis=1), np.sqrt(spreads[0] * spreads[1])), -1.0, 1.0)


def _centre(values: Floats, weights: Floats) -> Floats:
    """Return deviations from the mean, with rounding errors set to zero."""
    largest = np.abs(values).max(axis=-1, keepdims=True)
    values = values / np.where(largest > 0, largest, 1.0)  # so that squares stay finite
    apart: Floats = values - (weights * values).sum(axis=1, keepdims=True)
    return np.where(np.abs(apart) <= _ROUNDING_TOLERANCE, 0.0, apart)


def spearman(x: Floats, y: Floats, counts: Floats) -> Floats:
    """Return Spearman's correlation, which is Pearson's correlation of ranks.

    Equal values get the mean of their ranks.
    """
    return pearson(_ranks(x, counts), _ranks(y, counts), counts)


def _ranks(values: Floats, counts: Floats) -> Floats:
    """Return weighted ranks: the count of smaller values plus half of the equal ones; axes draw, value."""
    place = np.unique(values, return_inverse=True)[1].reshape(-1)
    sizes = sum_columns(counts, place)
    middles: Floats = np.cumsum(sizes, axis=1) - sizes / 2
    return middles[:, place]


def sum_columns(counts: Floats, place: Integers) -> Floats:
    """Return the sums of the columns with the same `place`, ordered by place."""
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    sums: Floats = np.add.reduceat(counts[:, order], starts, axis=1)
    return sums


def kendall(x: Floats, y: Floats, counts: Floats) -> Floats:
    """Return Kendall's tau-b: concordant minus discordant pairs, corrected for ties."""
    signs = [np.sign(values[:, None] - values) for values in (x, y)]

    def pairs(of: Floats) -> Floats:
        found: Floats = ((counts @ of) * counts).sum(axis=1)
        return found

    untied = pairs(np.abs(signs[0])) * pairs(np.abs(signs[1]))
    return np.clip(divide(pairs(signs[0] * signs[1]), np.sqrt(untied)), -1.0, 1.0)


def rowwise_kendall(rows: Floats, others: Floats) -> Floats:
    """Return Kendall's tau-b of each row with the same row of `others`, or with the only row of `others`.

    NaN if one of the two rows is constant.
    """
    first, second = np.triu_indices(rows.shape[1], 1)
    signs = [np.sign(np.round(of[:, first] - of[:, second], 9)) for of in (rows, others)]
    untied = [np.abs(of).sum(axis=1) for of in signs]
    return divide((signs[0] * signs[1]).sum(axis=1), np.sqrt(untied[0] * untied[1]))


CORRELATIONS: Mapping[str, CorrelationFunction] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def fisher_z(correlations: Floats) -> Floats:
    """Return Fisher's z. Perfect correlations are clipped, because their z is infinite."""
    found: Floats = np.arctanh(np.clip(correlations, -PERFECT_CORRELATION, PERFECT_CORRELATION))
    return found


def correlation_interval(value: float, draws: Floats, samples: int) -> tuple[float, float]:
    """Return the 95 % interval from the spread of Fisher's z over draws. NaN if `value` is ±1 or most draws are NaN."""
    there = draws[~np.isnan(draws)]
    if not abs(value) < PERFECT_CORRELATION or 2 * len(there) < len(draws):
        return np.nan, np.nan
    # Use quantiles, not the standard deviation: with little variation, some draws are nearly perfect.
    low, high = np.quantile(fisher_z(there), [0.025, 0.975])
    reach = student_quantile(samples - 2) / student_quantile(np.inf) * float(high - low) / 2
    middle = float(fisher_z(np.array(value)))
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))
