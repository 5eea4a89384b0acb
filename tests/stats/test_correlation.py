from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.stats.bootstrap import resample_counts
from creval.stats.correlation import CORRELATIONS, correlation_interval, fisher_z, kendall, pearson, spearman
from creval.stats.score_table import Floats

stats = pytest.importorskip("scipy.stats")
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
KINDS = sorted(CORRELATIONS)


def once(size: int) -> Floats:
    return np.ones((1, size))


@pytest.mark.parametrize("kind", KINDS)
@given(pairs=st.lists(st.tuples(st.integers(0, 6), st.floats(-1e3, 1e3, width=32)), min_size=3, max_size=40))
@settings(max_examples=60, deadline=None)
def test_correlations_are_scipys(kind: str, pairs: list[tuple[int, float]]) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    if np.ptp(x) == 0 or np.ptp(y) <= 1e-3:
        return
    found = CORRELATIONS[kind](x, y, once(len(x)))[0]
    assert found == pytest.approx(SCIPY[kind](x, y)[0], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_count_of_two_is_the_same_as_two_values(kind: str) -> None:
    generator = np.random.default_rng(1)
    x, y = generator.integers(0, 5, (2, 30)).astype(np.float64)
    counts = generator.integers(0, 4, (6, 30)).astype(np.float64)
    found = CORRELATIONS[kind](x, y, counts)
    for value, row in zip(found, counts.astype(int), strict=True):
        assert value == pytest.approx(SCIPY[kind](np.repeat(x, row), np.repeat(y, row))[0])
    np.testing.assert_allclose(CORRELATIONS[kind](x, y, counts * 1.7), found)


def test_constant_values_have_no_correlation() -> None:
    flat, steps = np.full(9, 0.1), np.arange(9.0)
    for correlation in (pearson, spearman, kendall):
        assert np.isnan(correlation(flat, steps, once(9))).all()
        assert np.isnan(correlation(steps, flat, once(9))).all()


def test_correlation_does_not_depend_on_scale() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    for size in (1e300, 1e-300):
        assert pearson(size * x, y, once(20)) == pytest.approx(pearson(x, y, once(20)))


def test_a_perfect_correlation_has_no_interval_from_draws() -> None:
    assert np.isnan(correlation_interval(1.0, np.full(100, 1.0), 30)).all()
    assert np.isnan(correlation_interval(0.5, np.full(100, np.nan), 30)).all()
    assert np.isfinite(fisher_z(np.array([1.0, -1.0]))).all()


def made(generator: np.random.Generator, samples: int) -> tuple[Floats, Floats]:
    """Ratings of three people from 1 to 5, and of a judge from 0 to 10."""
    good = generator.normal(0, 1, samples)
    said = 3 + good + generator.normal(0, 0.7, (3, samples))
    judged = 5 + good + 1.7 * generator.normal(0, 1, samples)
    return np.clip(np.round(said), 1, 5).mean(axis=0), np.clip(np.round(judged), 0, 10)


def covered(kind: str, runs: int, resamples: int) -> float:
    """Return how often the interval covers the correlation of 200,000 samples."""
    many = made(np.random.default_rng(0), 200_000)
    truth = SCIPY[kind](*many)[0]
    generator, hits = np.random.default_rng(4), 0
    for run in range(runs):
        x, y = made(generator, 60)
        (counts,) = resample_counts([np.arange(60)], resamples, run)
        value = CORRELATIONS[kind](x, y, once(60))[0]
        low, high = correlation_interval(value, CORRELATIONS[kind](x, y, counts), 60)
        hits += bool(low <= truth <= high)
    return hits / runs


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_over_samples_cover(kind: str) -> None:
    assert covered(kind, 300, 200) >= 0.91


@pytest.mark.study
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_over_samples_cover_in_many_runs(kind: str) -> None:
    assert 0.935 <= covered(kind, 2000, 1000) <= 0.97
