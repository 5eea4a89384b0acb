"""Confidence sequences: cases worked out by hand, and coverage in simulations."""

from __future__ import annotations

import numpy as np
import pytest

from creval.stats.confidence_sequence import MIN_SAMPLES, ConfidenceSequence, DifferenceBounds, initial_boundary
from creval.stats.intervals import student_from_normal
from creval.stats.score_table import Floats

stats = pytest.importorskip("scipy.stats")


def even(sizes: Floats) -> Floats:
    """Weight all samples equally."""
    share: Floats = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1.0)
    return share


def gathered(gaps: Floats, strata: list[int], sizes: list[float], *, finite: bool = False) -> ConfidenceSequence:
    """Return the sequence of two models with these differences."""
    made = ConfidenceSequence(np.array(sizes), 2, stratum_weights=even, value_range=100.0, finite_population=finite)
    on = np.ones((1, 2), dtype=np.bool_)
    for gap, stratum in zip(gaps, strata, strict=True):
        made.add(np.array([stratum]), np.array([[50.0 + gap, 50.0]]), on)
    return made


def off(bounds: DifferenceBounds) -> float:
    return float(bounds.radius[0, 0, 1])


def test_the_initial_boundary_is_that_of_robbins_and_siegmund() -> None:
    # On both sides together, 1 - Φ(a) + a φ(a) is the tail of a chi-square of three degrees.
    for chance in (0.025, 0.01, 0.001):
        assert initial_boundary(chance) ** 2 == pytest.approx(stats.chi2.isf(2 * chance, 3))


def test_students_quantiles_are_near() -> None:
    for freedom in (18, 27, 100):
        for z in (2.5, 3.0, 3.5):
            theirs = stats.t.isf(stats.norm.sf(z), freedom)
            ours = float(student_from_normal(np.array(z), np.array(float(freedom))))
            assert ours == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize("finite", [False, True])
def test_a_case_worked_out_by_hand(finite: bool) -> None:
    # Strata of 100 and 300 samples; 20 and 40 are seen, with differences of 10 ± 4 and 20 ± 8.
    gaps = np.array([10 - 4, 10 + 4] * 10 + [20 - 8, 20 + 8] * 20, dtype=np.float64)
    within, freedom = (20 * 16.0, 40 * 64.0), 58
    pooled = sum(within) / freedom
    one, two = (within[0] + 3 * pooled) / (19 + 3), (within[1] + 3 * pooled) / (39 + 3)
    left = (0.8, 260 / 300) if finite else (1.0, 1.0)
    weights = 0.25**2 / 20 * left[0], 0.75**2 / 40 * left[1]
    variance = weights[0] * one + weights[1] * two
    z = np.sqrt(stats.chi2.isf(0.05, 3) + np.log(1 / sum(weights) / MIN_SAMPLES))
    by_hand = np.sqrt(variance) * stats.t.isf(stats.norm.sf(z), freedom)
    made = gathered(gaps, [0] * 20 + [1] * 40, [100.0, 300.0], finite=finite)
    bounds = made.bounds(np.array([0.025]))
    assert bounds.value[0, 0, 1] == pytest.approx(0.25 * 10 + 0.75 * 20)
    assert bounds.value[0, 1, 0] == -bounds.value[0, 0, 1]
    assert off(bounds) == pytest.approx(by_hand, rel=1e-3)


def test_bounds_are_infinite_before_enough_samples() -> None:
    gaps = np.random.default_rng(2).normal(30, 10, 40)
    for seen, early in ((MIN_SAMPLES - 1, True), (MIN_SAMPLES, False)):
        made = gathered(gaps[:seen], [0] * seen, [900.0])
        assert (off(made.bounds(np.array([0.025]))) == np.inf) == early
    # 20 of each stratum are worth only 32, because one counts three times as much.
    made = gathered(gaps, [0, 1] * 20, [100.0, 300.0])
    assert off(made.bounds(np.array([0.025]))) == np.inf


def test_when_all_samples_are_seen_the_difference_on_them_is_known() -> None:
    gaps = np.random.default_rng(0).normal(3, 10, 50)
    bounds = gathered(gaps, [0] * 50, [50.0], finite=True).bounds(np.array([0.025]))
    assert bounds.value[0, 0, 1] == pytest.approx(gaps.mean())
    assert off(bounds) == 0
    assert 0 < off(gathered(gaps, [0] * 50, [50.0]).bounds(np.array([0.025]))) < np.inf


def test_bounds_are_infinite_until_every_stratum_is_seen() -> None:
    bounds = gathered(np.zeros(60), [0] * 60, [60.0, 1.0]).bounds(np.array([0.025]))
    assert off(bounds) == np.inf


def test_samples_that_one_model_lacks_are_removed_from_the_pair() -> None:
    gaps = np.random.default_rng(1).normal(0, 10, 60)
    gaps[::3] = np.nan
    found = gathered(gaps, [0] * 60, [60.0], finite=True).bounds(np.array([0.025]))
    kept = gaps[~np.isnan(gaps)]
    alone = gathered(kept, [0] * 40, [40.0], finite=True).bounds(np.array([0.025]))
    np.testing.assert_allclose(found.value, alone.value)
    assert off(found) == off(alone) == 0


def test_models_that_always_agreed_so_far_may_still_differ() -> None:
    bounds = gathered(np.zeros(100), [0] * 100, [900.0]).bounds(np.array([0.025]))
    assert 1 < off(bounds) < 3


def missed(runs: int, size: int, *, finite: bool) -> float:
    """Return how often the truth is outside at any look, on either side, at a risk of 5 %."""
    generator = np.random.default_rng(8)
    values = 100.0 * generator.beta(4, 1.5, (runs, 2, size))
    strata = np.arange(size) % 9
    made = ConfidenceSequence(
        np.bincount(strata).astype(np.float64),
        2,
        stratum_weights=even,
        value_range=100.0,
        finite_population=finite,
        runs=runs,
    )
    truth = (values[:, 0] - values[:, 1]).mean(axis=1) if finite else 0.0
    on, chance = np.ones((runs, 2), dtype=np.bool_), np.full(runs, 0.025)
    left = np.zeros(runs, dtype=np.bool_)
    for at in range(size):
        made.add(np.full(runs, strata[at]), values[:, :, at], on)
        bounds = made.bounds(chance)
        left |= np.abs(bounds.value[:, 0, 1] - truth) > bounds.radius[:, 0, 1] + 1e-9
    return float(left.mean())


@pytest.mark.parametrize("finite", [False, True])
def test_the_truth_is_inside_at_every_look(finite: bool) -> None:
    assert missed(400, 180, finite=finite) <= 0.05


@pytest.mark.study
@pytest.mark.parametrize("finite", [False, True])
def test_the_truth_is_inside_at_every_look_in_many_runs(finite: bool) -> None:
    assert 0.005 < missed(4000, 900, finite=finite) <= 0.05
