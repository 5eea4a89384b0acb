"""Aggregation follows the schema's levels, on numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.benchmarks.creval.protocol import SCHEMA
from creval.core.schema import Level
from creval.stats.aggregate import build_strata, stratum_weights
from creval.stats.scorecard import point_estimates
from tests.stats.made import table

NAN = float("nan")


def test_dimension_is_a_mean_of_samples_category_of_dimensions_overall_of_samples() -> None:
    # Dimension 0 has three samples, dimensions 1 and 3 one each.
    values = np.array([[[90.0, 60, 30]] * 3 + [[30.0, 0, 60]] + [[60.0, 30, 0]]])
    there = point_estimates(table(values, [0, 0, 0, 1, 3]))
    assert there["dimension"][0, 0].tolist() == pytest.approx([90, 60, 30, 66])
    assert there["dimension"][1, 0].tolist() == pytest.approx([30, 0, 60, 24])
    assert there["category"][0, 0].tolist() == pytest.approx([60, 30, 45, 45]), "unweighted"
    assert there["category"][1, 0].tolist() == pytest.approx([60, 30, 0, 36])
    assert there["overall"][0, 0].tolist() == pytest.approx([72, 42, 30, 51.6]), "every sample"
    assert np.isnan(there["category"][2]).all()


def test_missing_values_are_skipped_and_clear_the_composite_only_if_all_are_missing() -> None:
    values = np.array([[[80.0, NAN, 40], [60.0, 20, NAN]], [[NAN, 50, 50], [NAN, 50, 50]]])
    there = point_estimates(table(values, [0, 0]))
    assert there["overall"][0, 0].tolist() == pytest.approx([70, 20, 40, 44])
    assert np.isnan(there["overall"][0, 1]).tolist() == [True, False, False, True]


def test_strata_are_the_dimensions() -> None:
    parts = build_strata(table(np.zeros((1, 5, 3)), [2, 0, 2, 8, 0]))
    assert [part.tolist() for part in parts] == [[1, 4], [0, 2], [3]]


def test_levels_can_be_means_of_means() -> None:
    overall = Level("overall", "overall", ("overall",), mean_of="category")
    values = np.array([[[90.0, 90, 90]] * 3 + [[30.0, 30, 30]] + [[60.0, 60, 60]]])
    made = table(values, [0, 0, 0, 1, 3])
    nested = replace(made, schema=replace(SCHEMA, levels=(overall, *SCHEMA.levels[1:])))
    assert point_estimates(nested)["overall"][0, 0, 0] == pytest.approx((60 + 60) / 2)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_order_of_samples_and_models_does_not_matter(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    generator = np.random.default_rng(data.draw(st.integers(0, 1000)))
    values = generator.uniform(0, 100, (3, count, 3))
    values[generator.random(values.shape) < 0.2] = NAN
    place = generator.integers(0, 9, count)
    order, models = generator.permutation(count), generator.permutation(3)
    there = point_estimates(table(values, place.tolist()))
    shuffled = point_estimates(table(values[models][:, order], place[order].tolist()))
    for level, found in there.items():
        np.testing.assert_allclose(shuffled[level], found[:, models], rtol=1e-12)


def test_stratum_weights_reproduce_the_overall_mean() -> None:
    values = np.random.default_rng(4).uniform(0, 100, (1, 30, 3))
    place = [0] * 3 + [1] * 7 + [4] * 12 + [8] * 8
    made = table(values, place)
    parts = build_strata(made)
    groups = {name: found[[part[0] for part in parts]] for name, found in made.groups.items()}
    sizes = np.array([float(len(part)) for part in parts])
    means = np.array([values[0, part, 0].mean() for part in parts])
    for of in (None, "dimension", "category"):
        first, *finer = made.schema.levels
        card = replace(made.schema, levels=(replace(first, mean_of=of), *finer))
        whole = point_estimates(replace(made, schema=card))["overall"][0, 0, 0]
        assert stratum_weights(card, groups, sizes) @ means == pytest.approx(whole)
        both = stratum_weights(card, groups, np.stack([sizes, sizes * [1, 1, 0, 1]]))
        np.testing.assert_allclose(both.sum(axis=-1), 1)
        assert both[1, 2] == 0


def test_a_sample_without_a_finer_group_counts_only_where_samples_are_counted() -> None:
    """Index -1 must not select the last dimension."""
    values = np.array([[[90.0] * 3, [90.0] * 3, [30.0] * 3, [0.0] * 3, [10.0] * 3]])
    made = table(values, [0, 0, 1, 0, 8])
    made = replace(made, groups={"category": np.array([0, 0, 0, 0, 2]), "dimension": np.array([0, 0, 1, -1, 8])})
    there = point_estimates(made)
    assert there["dimension"][[0, 1, 8], 0, 0].tolist() == [90, 30, 10]
    assert there["category"][[0, 2], 0, 0].tolist() == [60, 10]
    assert there["overall"][0, 0, 0] == pytest.approx((90 + 90 + 30 + 0 + 10) / 5)
    parts = build_strata(made)
    assert [part.tolist() for part in parts] == [[3], [0, 1], [2], [4]]
    groups = {name: found[[part[0] for part in parts]] for name, found in made.groups.items()}
    nested = replace(SCHEMA, levels=(replace(SCHEMA.levels[0], mean_of="category"), *SCHEMA.levels[1:]))
    shares = stratum_weights(nested, groups, np.array([1.0, 2.0, 1.0, 1.0]))
    assert shares.tolist() == [0, 0.25, 0.25, 0.5]
