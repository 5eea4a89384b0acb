from __future__ import annotations

import math

import numpy as np
import pytest

from creval.stats.human.model_correlation import interval_over_models

stats = pytest.importorskip("scipy.stats")
KINDS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def test_pearsons_is_that_of_fishers_z() -> None:
    for value, models in ((0.6, 12), (-0.3, 20), (0.9, 30)):
        expected = stats.pearsonr  # its interval is Fisher's
        x = np.arange(float(models))
        x = (x - x.mean()) / x.std()
        other = np.random.default_rng(0).normal(size=models)
        other -= other.mean() + (other * x).mean() * x
        y = value * x + math.sqrt(1 - value**2) * other / other.std()
        low, high = expected(x, y).confidence_interval()
        assert interval_over_models("pearson", value, models) == pytest.approx((low, high), abs=0.05)


def test_a_perfect_order_of_six_models_has_a_wide_interval() -> None:
    low, high = interval_over_models("spearman", 1.0, 6)
    assert 0.5 < low < 0.8
    assert high == 1.0
    # Only one of 720 orders is perfect, so a low correlation rarely produces it.
    assert interval_over_models("kendall", 1.0, 12)[0] > 0.8


def test_the_interval_is_symmetric() -> None:
    for kind in KINDS:
        low, high = interval_over_models(kind, 0.6, 7)
        back = interval_over_models(kind, -0.6, 7)
        assert back == pytest.approx((-high, -low), abs=0.04)


def test_few_models_have_no_interval() -> None:
    assert np.isnan(interval_over_models("pearson", 0.9, 3)).all()
    assert np.isnan(interval_over_models("pearson", math.nan, 8)).all()


def covered(kind: str, models: int, latent: float, runs: int) -> float:
    truth = {
        "pearson": latent,
        "spearman": 6 / math.pi * math.asin(latent / 2),
        "kendall": 2 / math.pi * math.asin(latent),
    }[kind]
    generator, hits = np.random.default_rng(9), 0
    for _ in range(runs):
        x, other = generator.normal(size=(2, models))
        value = KINDS[kind](x, latent * x + math.sqrt(1 - latent**2) * other)[0]
        low, high = interval_over_models(kind, float(value), models)
        hits += low <= truth <= high
    return hits / runs


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_intervals_over_models_cover(kind: str) -> None:
    assert covered(kind, 6, 0.8, 300) >= 0.91


@pytest.mark.study
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("models", [4, 6, 12])
@pytest.mark.parametrize("latent", [0.0, 0.6, 0.95])
def test_intervals_over_models_cover_in_many_runs(kind: str, models: int, latent: float) -> None:
    assert covered(kind, models, latent, 2000) >= 0.935
