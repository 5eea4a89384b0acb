"""How sure a correlation over a handful of models is.

Resampling the samples would not tell: the scatter of the models' means lowers the correlation, and
a resample scatters more. So the models are taken as drawn from others like them.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from creval.stats.correlation import rowwise_kendall
from creval.stats.score_table import Floats

MIN_MODELS = 4
"""Models below which there is no interval: three are in order by chance too often."""
_DRAWS = 4_000
_LATENT_GRID = np.tanh(np.linspace(-4.0, 4.0, 81))
_TAIL_PROBABILITY = 0.025


def interval_over_models(kind: str, value: float, models: int) -> tuple[float, float]:
    """Return the 95 % interval of a correlation over so many models; NaN where they are too few.

    It holds the correlations under which one as high, and one as low, as this is seen in more than 2.5 % of all draws
    of so many models, whose means follow a normal distribution in two dimensions. So it exists for perfect orders
    too, and holds the truth at least as often as it says.
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
    """Return the correlation in a normal distribution whose Pearson correlation is `latent`."""
    if kind == "spearman":
        return 6 / math.pi * math.asin(latent / 2)
    return 2 / math.pi * math.asin(latent) if kind == "kendall" else latent


@lru_cache(maxsize=64)
def _simulate_correlations(kind: str, models: int) -> Floats:
    """Return what is seen under each latent correlation, by the same draws; axes correlation, draw."""
    x, other = np.random.default_rng(0).standard_normal((2, _DRAWS, models))
    return np.stack([_rowwise_correlation(kind, x, r * x + math.sqrt(1 - r * r) * other) for r in _LATENT_GRID])


def _rowwise_correlation(kind: str, x: Floats, y: Floats) -> Floats:
    """Return the correlation of each row of values that are all different."""
    if kind == "kendall":
        return rowwise_kendall(x, y)
    if kind == "spearman":
        x, y = (np.argsort(np.argsort(v, axis=1), axis=1).astype(np.float64) for v in (x, y))
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    found: Floats = (x * y).sum(axis=1) / spread
    return found
