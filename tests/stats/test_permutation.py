from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from creval.stats.permutation import holm_correction, p_values, sample_contributions
from creval.stats.scorecard import build_scorecard
from tests.stats.made import table


def test_all_sign_flips_by_hand() -> None:
    """Differences 3, 1, -1: six of the eight sums with flipped signs are at least as far from zero as 3."""
    values = np.zeros((2, 3, 3))
    values[0] = np.array([3.0, 1.0, -1.0])[:, None]
    pair = table(values, [0, 0, 0]).select_pairs([("A", "B")])
    assert sample_contributions(pair).sum() == pytest.approx(1.0)
    assert p_values([pair]) == [6 / 8]


def test_many_samples_agree_with_scipy() -> None:
    stats = import_module("scipy.stats")
    chance = np.random.default_rng(3)
    values = chance.normal(50, 10, (2, 60, 3))
    values[0] += 2.2
    made = table(values, [0] * 60)
    pair = made.select_pairs([("A", "B")])
    weights = made.schema.component_weights(made.schema.ranking_column)
    gap = sum(w * (values[0] - values[1])[:, n] for n, w in enumerate(weights.values()))
    expected = stats.permutation_test(
        (gap, np.zeros(60)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        vectorized=True,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert p_values([pair])[0] == pytest.approx(expected.pvalue, abs=0.01)


def test_contributions_sum_to_the_difference_with_groups_and_gaps() -> None:
    chance = np.random.default_rng(4)
    values = chance.normal(50, 10, (3, 40, 3))
    values[0, :7, 1] = np.nan
    made = table(values, list(chance.integers(0, 3, 40)))
    pairs = made.select_pairs([("A", "B"), ("B", "C")])
    found = {(d.first, d.second): d.value for d in build_scorecard(made, resamples=100).differences}
    assert sample_contributions(pairs).sum(axis=1) == pytest.approx([found["A", "B"], found["B", "C"]])


def test_samples_of_one_image_are_flipped_together() -> None:
    values = np.zeros((2, 6, 3))
    values[0] = 1.0
    pair = replace(table(values, [0] * 6).select_pairs([("A", "B")]), clusters=np.array([0, 0, 0, 1, 1, 1]))
    assert p_values([pair]) == [0.5]
    assert p_values([replace(pair, clusters=np.arange(6))]) == [2 / 64]


def test_equal_models_differ_significantly_in_one_of_twenty_runs() -> None:
    chance = np.random.default_rng(6)
    found = []
    for _ in range(400):
        values = chance.normal(0, 1, (2, 24, 3))
        found += p_values([table(values, [0] * 24).select_pairs([("A", "B")])])
    wrong = np.mean([p is not None and p <= 0.05 for p in found])
    assert wrong <= 0.08


def test_no_p_value_without_samples() -> None:
    values = np.full((2, 4, 3), 7.0)
    assert p_values([table(values, [0] * 4).select_pairs([("A", "B")])]) == [1.0]
    values[0, :, 1] = np.nan
    assert p_values([table(values, [0] * 4).select_pairs([("A", "B")])]) == [None]


def test_no_p_value_if_a_model_has_no_supported_value() -> None:
    """Without a value in VC there is no S to compare, in whichever of the two models. The 0 of an
    unsupported sample is not a supported value."""
    values = np.full((3, 4, 3), 7.0)
    values[0, :, 1] = 0.0
    made = table(values, [0] * 4)
    own = made.total.copy()
    own[0, :, 1] = 0
    made = replace(made, scored=own, total=own)
    both_ways = made.select_pairs([("A", "B"), ("B", "A"), ("B", "C")])
    assert p_values([both_ways]) == [None, None, 1.0]


def test_holm_is_that_of_statsmodels() -> None:
    multitest = import_module("statsmodels.stats.multitest")
    chance = np.random.default_rng(2)
    for count in (1, 2, 7, 28):
        values = (chance.random(count) ** 3).tolist()
        expected = multitest.multipletests(values, method="holm")[1]
        assert holm_correction(values) == pytest.approx(expected)
    assert holm_correction([None, 0.04, None]) == [None, 0.04, None]
    assert holm_correction([]) == []


def test_models_are_compared_if_one_lacks_a_value() -> None:
    """Differences 2, 1, -1.5; VC lacks the first. They add 0.4, 0.4 and -0.6 to S, so all sign flips reach the
    sum of 0.2. With all values, 6 of 8 would reach it."""
    values = np.zeros((2, 3, 3))
    values[0] = np.array([2.0, 1.0, -1.5])[:, None]
    whole = table(values, [0, 0, 0]).select_pairs([("A", "B")])
    assert p_values([whole]) == [6 / 8]
    for lacking in (0, 1):
        holes = values.copy()
        holes[lacking, 0, 1] = np.nan
        pair = table(holes, [0, 0, 0]).select_pairs([("A", "B")])
        assert sample_contributions(pair)[0].tolist() == pytest.approx([0.4, 0.4, -0.6])
        assert p_values([pair]) == [1.0]


def test_pairs_in_several_tables_are_tested_as_in_one() -> None:
    values = np.random.default_rng(8).normal(0, 1, (4, 20, 3))
    values[0, ::2] = np.nan  # a sample that one table lacks is still a cluster
    made = table(values, [0] * 20)
    pairs = [("A", "B"), ("B", "C"), ("C", "D")]
    assert p_values(made.select_pairs([pair]) for pair in pairs) == p_values([made.select_pairs(pairs)])
