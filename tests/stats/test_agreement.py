from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from creval.stats.agreement import (
    cohen_kappa,
    compute_agreement,
    fleiss_kappa,
    kappa_interval,
    krippendorff_alpha,
    percent_agreement,
)
from creval.stats.bootstrap import resample_counts
from creval.stats.score_table import Floats


def answers(seed: int, voices: int, missing: float = 0.0, most: int = 3) -> Floats:
    """Answers of voices that agree partly."""
    chance = np.random.default_rng(seed)
    truth = chance.integers(0, most + 1, (80, 1))
    other = chance.integers(0, most + 1, (80, voices))
    found = np.where(chance.random((80, voices)) < 0.6, truth, other).astype(float)
    found[chance.random((80, voices)) < missing] = np.nan
    return found


@pytest.mark.parametrize("seed", range(4))
def test_cohens_kappa_is_that_of_scikit_learn(seed: int) -> None:
    expected = import_module("sklearn.metrics").cohen_kappa_score
    first, second = answers(seed, 2).T
    assert cohen_kappa(first, second) == pytest.approx(expected(first, second), abs=1e-9)


@pytest.mark.parametrize("voices", [2, 3, 6])
def test_fleiss_kappa_is_that_of_statsmodels(voices: int) -> None:
    raters = import_module("statsmodels.stats.inter_rater")
    given = answers(voices, voices)
    expected = raters.fleiss_kappa(raters.aggregate_raters(given.astype(int))[0])
    assert fleiss_kappa(given) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_that_of_the_krippendorff_package(scale: str, missing: float) -> None:
    alpha = import_module("krippendorff").alpha
    for voices in (2, 4):
        given = answers(voices, voices, missing)
        expected = alpha(reliability_data=given.T, level_of_measurement=scale)
        assert krippendorff_alpha(given, scale) == pytest.approx(expected, abs=1e-9)


def test_by_hand() -> None:
    """Three of four questions have equal answers; yes and no are equally frequent."""
    two = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert percent_agreement(two) == 75.0
    assert cohen_kappa(two[:, 0], two[:, 1]) == pytest.approx((0.75 - 0.5) / 0.5)
    found = compute_agreement(two)
    assert found[:2] == (4, 75.0)
    assert found.cohen == pytest.approx(0.5)


def test_agreement_is_none_without_enough_answers() -> None:
    nothing = np.full((3, 2), np.nan)
    assert compute_agreement(nothing)[:5] == (0, None, None, None, None)
    always = np.ones((5, 2))
    assert compute_agreement(always)[:5] == (5, 100.0, None, None, None), "chance alone would do as well"
    alone = np.array([[1.0, np.nan], [np.nan, 0.0]])
    assert compute_agreement(alone)[:5] == (0, None, None, None, None)


def test_intervals_are_over_clusters_and_cover() -> None:
    """Two voices that are each right in 80 % agree in 68 %; questions of one sample are a cluster."""
    chance = np.random.default_rng(8)
    hits = 0
    for run in range(200):
        truth = np.repeat(chance.integers(0, 2, 60), 3)[:, None]
        given = np.where(chance.random((180, 2)) < 0.8, truth, 1 - truth).astype(float)
        found = compute_agreement(given, clusters=np.repeat(np.arange(60), 3), resamples=300, seed=run)
        low, high = found.percent_ends
        assert low is not None
        assert high is not None
        hits += low <= 68 <= high
    assert hits >= 0.9 * 200
    assert compute_agreement(given, clusters=np.zeros(180, dtype=int)).percent_ends == (None, None)


@pytest.mark.study
def test_intervals_cover_in_many_runs() -> None:
    chance = np.random.default_rng(9)
    hits = {"percent": 0, "alpha": 0}
    many = np.repeat(np.random.default_rng(1).integers(0, 2, 200_000), 2)[:, None]
    noisy = np.where(np.random.default_rng(2).random((400_000, 3)) < 0.8, many, 1 - many)
    truth = compute_agreement(noisy.astype(float))
    for run in range(2000):
        base = np.repeat(chance.integers(0, 2, 80), 3)[:, None]
        given = np.where(chance.random((240, 3)) < 0.8, base, 1 - base).astype(float)
        found = compute_agreement(given, clusters=np.repeat(np.arange(80), 3), resamples=400, seed=run)
        for name in hits:
            low, high = getattr(found, f"{name}_ends")
            hits[name] += low <= getattr(truth, name) <= high
    assert min(hits.values()) >= 0.935 * 2000, hits


@pytest.mark.parametrize("voices", [2, 3])
def test_the_interval_of_kappa_is_that_of_kappa_over_resampled_rows(voices: int) -> None:
    """Draw the same clusters, repeat their rows, and let other packages compute each kappa."""
    given, clusters = answers(voices, voices, most=1), np.arange(80) // 4
    size = 20
    (weights,) = resample_counts([np.arange(size)], 60, 3)
    kappas = []
    for counts in np.rint(weights * (size - 1) / size).astype(int):
        rows = np.concatenate([np.repeat(given[clusters == one], times, axis=0) for one, times in enumerate(counts)])
        if voices == 2:
            kappas.append(import_module("sklearn.metrics").cohen_kappa_score(*rows.T))
        else:
            raters = import_module("statsmodels.stats.inter_rater")
            kappas.append(raters.fleiss_kappa(raters.aggregate_raters(rows.astype(int))[0]))
    found = kappa_interval(given, clusters, 60, 3)
    assert found == pytest.approx(tuple(np.quantile(kappas, [0.025, 0.975])), abs=1e-9)


def test_kappa_of_few_clusters_or_equal_answers_has_no_interval() -> None:
    assert kappa_interval(answers(0, 2), np.arange(80) // 20) == (None, None)
    assert kappa_interval(np.ones((80, 2)), np.arange(80)) == (None, None)
