"""Intervals of correlations over few models.

A bootstrap over samples would be biased: noise in the models' means lowers the correlation, and
a resample has more noise. Instead, the models count as a random sample of a population of models.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from creval.stats.correlation import rowwise_kendall
from creval.stats.score_table import Floats

MIN_MODELS = 4
"""Fewest models for an interval: three are in order by chance too often."""
_DRAWS = 4_000
_LATENT_GRID = np.tanh(np.linspace(-4.0, 4.0, 81))
_TAIL_PROBABILITY = 0.025


def interval_over_models(kind: str, value: float, models: int) -> tuple[float, float]:
    """Return the 95 % interval of a correlation over `models` models; NaN if there are too few.

    The interval inverts a test. It contains each true correlation under which more than 2.5 % of simulated correlations
    are at least as high as `value`, and more than 2.5 % at least as low. Each simulated correlation is that of `models`
    points from a bivariate normal distribution. The interval exists for perfect correlations too, and its coverage is
    at least 95 %.
    """
    if models < MIN_MODELS or math.isnan(value):
        return np.nan, np.nan
    seen = _simulate_correlations(kind, models)
    slack = 1e-9
    as_high = (seen >= value - slack).mean(axis=1)
    as_low = (seen <= value + slack).mean(axis=1)
    low = float(np.interp(_TAIL_PROBABILITY, np.maximum.accumulate(as_high), _LATENT_GRID))
    high = float(-np.interp(_TAIL_PROBABILITY, np.maximum.accumulate(as_low[::-1]), -_LATENT_GRID[::-1]))
    if as_high[0] > _TAIL_PROBABILITY:
        low = -1.0
    if as_low[-1] > _TAIL_PROBABILITY:
        high = 1.0
    return _from_latent(kind, low), _from_latent(kind, high)


def _from_latent(kind: str, latent: float) -> float:
    """Return the correlation of this kind in a normal distribution whose Pearson correlation is `latent`."""
    if kind == "spearman":
        return 6 / math.pi * math.asin(latent / 2)
    return 2 / math.pi * math.asin(latent) if kind == "kendall" else latent


@lru_cache(maxsize=64)
def _simulate_correlations(kind: str, models: int) -> Floats:
    """Return simulated correlations for each latent correlation; axes latent correlation, draw."""
    x, other = np.random.default_rng(0).standard_normal((2, _DRAWS, models))
    return np.stack([_rowwise_correlation(kind, x, r * x + math.sqrt(1 - r * r) * other) for r in _LATENT_GRID])


def _rowwise_correlation(kind: str, x: Floats, y: Floats) -> Floats:
    """Return the correlation of each row of `x` with that row of `y`. All values of a row must be distinct."""
    if kind == "kendall":
        return rowwise_kendall(x, y)
    if kind == "spearman":
        x, y = (np.argsort(np.argsort(v, axis=1), axis=1).astype(np.float64) for v in (x, y))
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    found: Floats = (x * y).sum(axis=1) / spread
    return found
