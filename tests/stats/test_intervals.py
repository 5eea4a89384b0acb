from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from creval.stats.intervals import clustered_mean, clustered_proportion, student_quantile
from creval.stats.score_table import Floats

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 3, 4, 5, 10, 20, 60, 999, 1001, 100_000])
def test_the_quantile_is_scipys(freedom: float) -> None:
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-11)


def test_the_quantile_is_that_of_the_tables() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.980, np.inf: 1.960}
    assert {freedom: round(student_quantile(freedom), 3) for freedom in table} == table


def test_a_share_without_clusters_is_wilsons() -> None:
    hits = np.repeat([1.0, 0.0], [620, 380])
    found = clustered_proportion(hits, np.arange(1000))
    expected = stats.binomtest(620, 1000).proportion_ci(method="wilson")
    assert astuple(found) == pytest.approx((0.62, expected.low, expected.high), abs=1e-3)


def test_the_interval_of_a_share_of_one_is_not_empty() -> None:
    found = clustered_proportion(np.ones(40), np.arange(40))
    assert found.high == 1.0
    assert found.low == pytest.approx(stats.binomtest(40, 40).proportion_ci(method="wilson").low, abs=0.01)
    few = clustered_proportion(np.ones(40), np.arange(40) // 4)
    assert few.low is not None
    assert found.low is not None
    assert few.low < found.low, "ten samples tell less than forty"
    assert clustered_proportion(np.ones(0), np.arange(0)).value is None


def covered(runs: int, truth: float, samples: int) -> float:
    """Return the coverage of a share's interval, with five correlated comparisons per sample."""
    generator, hits = np.random.default_rng(8), 0
    for _ in range(runs):
        alike = generator.random((samples, 1)) < truth
        own = generator.random((samples, 5)) < truth
        drawn = np.where(generator.random((samples, 5)) < 0.6, alike, own)
        found = clustered_proportion(drawn.ravel().astype(np.float64), np.repeat(np.arange(samples), 5))
        hits += (found.low or 0.0) <= truth <= (found.high or 0.0)
    return hits / runs


def test_intervals_of_shares_cover() -> None:
    assert covered(500, 0.7, 40) >= 0.92


@pytest.mark.study
@pytest.mark.parametrize("truth", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("samples", [30, 100])
def test_intervals_of_shares_cover_in_many_runs(truth: float, samples: int) -> None:
    assert covered(2000, truth, samples) >= 0.935


def names(values: Floats) -> list[str]:
    return [str(at) for at in range(len(values))]


def test_a_mean_has_students_interval() -> None:
    values = np.random.default_rng(1).normal(3, 2, 40)
    found = clustered_mean(values, names(values))
    low, high = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    assert astuple(found) == pytest.approx((values.mean(), low, high), abs=1e-4)
    few, none = (clustered_mean(some, names(some)) for some in (values[:4], values[:0]))
    assert few.value == pytest.approx(values[:4].mean())
    assert few.interval == (None, None)
    assert none.value is None


def test_clustered_values_widen_the_interval() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    chance = np.random.default_rng(3)
    images = chance.integers(0, 12, 90)
    values = chance.normal(size=12)[images] + 0.3 * chance.normal(size=90)
    fitted = statsmodels.OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": images}, use_t=True)
    found = clustered_mean(values, list(map(str, images)))
    assert found.value == pytest.approx(fitted.params[0])
    assert found.interval == pytest.approx(tuple(fitted.conf_int()[0]), rel=1e-3)
    few = clustered_mean(values[images < 4], list(map(str, images[images < 4])))
    assert few.interval == (None, None), "many values of four images are four clusters"
