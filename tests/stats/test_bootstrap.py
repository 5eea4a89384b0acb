from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from creval.core.schema import Level
from creval.stats.bootstrap import bootstrap_tables, percentile_interval, pool_small_strata, resample_counts
from creval.stats.score_table import Floats, ScoreTable
from tests.stats.made import table


def test_strata_are_resampled_separately_and_keep_their_weight() -> None:
    strata = [np.array([0, 2, 4, 6]), np.array([1, 3, 5]), np.arange(7, 57)]
    chunks = list(resample_counts(strata, 2500, seed=1))
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    for counts in chunks:
        for stratum in strata:
            np.testing.assert_allclose(counts[:, stratum].sum(axis=1), len(stratum))


def test_single_samples_are_drawn_together() -> None:
    one, two, three = np.array([0]), np.array([1]), np.array([2, 3])
    assert [part.tolist() for part in pool_small_strata([one, two, three])] == [[2, 3], [0, 1]]
    assert [part.tolist() for part in pool_small_strata([one, three])] == [[2, 3, 0]]
    assert [part.tolist() for part in pool_small_strata([one])] == [[0]]
    values = np.arange(27, dtype=np.float64).reshape(1, 9, 3)
    (drawn,) = bootstrap_tables([table(values, list(range(9)))], 500, seed=0)
    assert drawn["overall"][:, 0, 0, 0].std() > 1, "one sample a dimension still scatters"


def test_the_spread_is_the_standard_error_in_small_strata_too() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(50, 10, (1, 8, 3))
    (drawn,) = bootstrap_tables([table(values, [0] * 4 + [1] * 4)], 20_000, seed=2)
    columns = values[0, :, 0].reshape(2, 4)
    error = np.sqrt((columns.var(axis=1, ddof=1) / 4).sum()) / 2
    assert drawn["overall"][:, 0, 0, 0].std() == pytest.approx(error, rel=0.03)


def test_resamples_are_the_same_for_every_model_and_seed() -> None:
    values = np.random.default_rng(0).uniform(0, 100, (1, 40, 3))
    both = np.concatenate([values, values - 7])
    first, again = (bootstrap_tables([table(both, [0] * 40)], 300, seed=5)[0]["overall"] for _ in "ab")
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first[:, 0, 0] - first[:, 0, 1], 7, rtol=1e-9)
    other = bootstrap_tables([table(both, [0] * 40)], 300, seed=6)[0]["overall"]
    assert not np.array_equal(first, other)


def test_the_interval_is_of_percentiles() -> None:
    low, high = percentile_interval(np.arange(1001, dtype=np.float64)[:, None])
    assert (low.item(), high.item()) == pytest.approx((25.0, 975.0))


def test_draws_without_a_value_are_ignored_unless_they_are_most() -> None:
    draws = np.stack([np.arange(1000.0)] * 2, axis=1)
    draws[:100, 0] = np.nan
    draws[:900, 1] = np.nan
    low, high = percentile_interval(draws)
    assert low[0] == pytest.approx(122.475)
    assert high[0] == pytest.approx(976.525)
    assert np.isnan([low[1], high[1]]).all()


def covered(runs: int, resamples: int) -> float:
    """Return the coverage of the interval of S, with 90 samples in nine dimensions that differ."""
    generator = np.random.default_rng(3)
    truth = np.linspace(40, 80, 9)
    place = np.repeat(np.arange(9), 10)
    hits = 0
    for run in range(runs):
        values = truth[place][None, :, None] + generator.normal(0, 20, (1, 90, 3))
        (drawn,) = bootstrap_tables([table(values, place.tolist())], resamples, seed=run)
        low, high = percentile_interval(drawn["overall"][:, 0, 0, 3])
        hits += bool(low <= truth.mean() <= high)
    return hits / runs


def test_intervals_cover_as_often_as_they_state() -> None:
    assert 0.91 <= covered(300, 400) <= 0.985, "three standard errors around 95 %"


@pytest.mark.study
def test_intervals_cover_in_many_runs() -> None:
    assert 0.935 <= covered(2000, 2000) <= 0.965


def over_kinds(column: Floats, dimensions: list[int]) -> ScoreTable:
    """Return a table whose overall score is the mean of its dimensions. Its samples alternate
    between two kinds."""
    made = table(column[None, :, None] * np.ones(3), dimensions)
    whole = Level("overall", "overall", ("overall",), mean_of="dimension")
    levels = (whole, made.schema.find_level("dimension"), Level("kind", "kinds", ("a", "b")))
    kind = np.arange(len(column)) % 2
    return replace(made, schema=replace(made.schema, levels=levels), groups={**made.groups, "kind": kind})


def test_single_samples_of_a_dimension_are_resampled_together() -> None:
    """Differences between dimensions are not variance of samples."""
    values = np.repeat(np.arange(9) * 10.0, 2) + np.tile([0.0, 1.0], 9)
    made = over_kinds(values, np.repeat(np.arange(9), 2).tolist())
    (drawn,) = bootstrap_tables([made], 5_000, seed=0)
    assert drawn["overall"][:, 0, 0, 0].std() == pytest.approx(np.sqrt(9 / 4) / 9, rel=0.05)
    owners = [0, 0, 1, 1, 2]
    parts = [np.array([n]) for n in range(4)] + [np.array([4, 5])]
    assert [part.tolist() for part in pool_small_strata(parts, owners)] == [[0, 1], [2, 3], [4, 5]]


def test_dimensions_of_one_sample_keep_their_weight() -> None:
    """Together with other dimensions, they keep the weight of their number in every draw."""
    values = np.array([0.0] * 4 + [90.0] * 8)
    (drawn,) = bootstrap_tables([over_kinds(values, [0] * 4 + list(range(1, 9)))], 500, seed=0)
    np.testing.assert_allclose(drawn["overall"][:, 0, 0, 0], 80.0)
    (drawn,) = bootstrap_tables([over_kinds(np.arange(9.0), list(range(9)))], 20_000, seed=1)
    error = np.sqrt(np.arange(9.0).var(ddof=1) / 9)
    assert drawn["overall"][:, 0, 0, 0].std() == pytest.approx(error, rel=0.03)
