from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from creval.stats.intervals import Proportion, wilson_interval


@pytest.mark.parametrize(("found", "total"), [(0, 1), (1, 1), (3, 7), (0, 50), (50, 50), (17, 400)])
def test_wilsons_interval_is_that_of_statsmodels(found: int, total: int) -> None:
    proportion = import_module("statsmodels.stats.proportion")
    expected = proportion.proportion_confint(found, total, method="wilson")
    assert wilson_interval(found, total) == pytest.approx(expected, abs=1e-9)


def test_a_share_with_a_total_of_zero_has_no_value() -> None:
    assert (Proportion(0, 0).value, Proportion(0, 0).interval) == (None, (None, None))
    assert Proportion(1, 4).value == 0.25


def test_the_interval_covers() -> None:
    chance = np.random.default_rng(5)
    covered = [
        low <= share <= high
        for share in (0.5, 0.8, 0.95)
        for low, high in (wilson_interval(int(n), 60) for n in chance.binomial(60, share, 2000))
    ]
    assert np.mean(covered) >= 0.935
