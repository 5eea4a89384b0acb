from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from creval.stats.human.paired_series import (
    ClusterResamples,
    PairedSeries,
    comparisons_from_preferences,
    comparisons_from_ratings,
    correlate_means,
    correlate_series,
    pairwise_accuracy,
    series_by_model,
    series_by_model_pair,
)
from creval.stats.human.ratings import Preference
from creval.stats.score_table import Floats

stats = pytest.importorskip("scipy.stats")


def drawn(samples: int, resamples: int = 400) -> ClusterResamples:
    return ClusterResamples(np.arange(samples), resamples, seed=0)


def test_correlations_of_models_are_averaged_through_fishers_z() -> None:
    generator = np.random.default_rng(1)
    people = generator.normal(size=(3, 40))
    scores = people * [[0.2], [1.0], [3.0]] + generator.normal(size=(3, 40))
    scores[1, 5] = np.nan
    found = correlate_series(series_by_model(people, scores, "ABC"), drawn(40))
    each = [stats.spearmanr(p, s, nan_policy="omit")[0] for p, s in zip(people, scores, strict=True)]
    assert [found.by_series[name]["spearman"].value for name in "ABC"] == pytest.approx(each)
    assert found.mean["spearman"].value == pytest.approx(np.tanh(np.arctanh(each).mean()))
    for kind in ("pearson", "spearman", "kendall"):
        value, low, high = astuple(found.mean[kind])
        assert value is not None
        assert low is not None
        assert high is not None
        assert low < value < high


def test_series_with_too_little_variation_are_skipped_by_name() -> None:
    generator = np.random.default_rng(2)
    people, scores = generator.normal(size=(2, 3, 40))
    people[0, 4:] = 0.0
    people[1, 9:] = np.nan
    found = correlate_series(series_by_model(people, scores, "ABC"), drawn(40))
    assert found.skipped == ("A", "B")
    assert astuple(found.mean["pearson"]) == pytest.approx(astuple(found.by_series["C"]["pearson"]))
    nothing = correlate_series([], drawn(40))
    assert nothing.mean["kendall"].value is None


def test_models_means_are_correlated_with_an_interval_over_models() -> None:
    people, scores = np.array([1.0, 2.0, 3.0, 5.0]), np.array([10.0, 30.0, 20.0, 40.0])
    found = correlate_means(np.append(people, np.nan), np.append(scores, 9.0))
    assert found["kendall"].value == pytest.approx(4 / 6)
    assert found["spearman"].value == pytest.approx(0.8)
    assert found["pearson"].low is not None
    assert correlate_means(people[:2], scores[:2])["pearson"].value is None


def test_a_comparison_is_right_if_the_better_edit_has_the_better_score() -> None:
    people = np.array([[1.0, 1.0, 5.0, 2.0], [2.0, 1.0, 1.0, np.nan], [3.0, 1.0, 3.0, 1.0]])
    scores = np.array([[1.0, 9.0, 3.0, 2.0], [5.0, 2.0, 3.0, 1.0], [4.0, 1.0, 1.0, 1.0]])
    pairs = comparisons_from_ratings(people, scores)
    assert len(pairs.people) == 10
    # Sample 1: A<B right, A<C right, B<C wrong. 2: undecided. 3: A>B equal, A>C right, B<C wrong.
    # 4: A>C right.
    assert pairwise_accuracy(pairs, np.arange(4)).value == pytest.approx(4.5 / 7)


def test_preferences_between_one_pair_of_edits_are_averaged() -> None:
    scores = np.array([[1.0, 4.0], [2.0, np.nan]])
    said = [Preference(0, 0, 0, 1, -1.0), Preference(1, 0, 0, 1, 0.0), Preference(0, 1, 0, 1, 1.0)]
    pairs = comparisons_from_preferences(said, scores)
    assert pairs.people.tolist() == [-0.5]
    assert pairs.scores.tolist() == [-1.0]
    (strand,) = series_by_model_pair(pairs, ["A", "B"])
    assert strand.name == "A / B"


def made(generator: np.random.Generator, samples: int) -> tuple[Floats, Floats]:
    """Four models with the same hard samples; ratings in steps, scores with noise."""
    good = generator.normal(size=(4, samples)) + 0.7 * generator.normal(size=samples)
    said = np.round(2 * (good + 0.5 * generator.normal(size=(4, samples))))
    return said, good + np.array([[0.5], [1.0], [1.5], [2.0]]) * generator.normal(size=(4, samples))


def covered(runs: int, resamples: int) -> float:
    people, scores = made(np.random.default_rng(0), 300_000)
    each = [stats.spearmanr(p, s)[0] for p, s in zip(people, scores, strict=True)]
    truth = np.tanh(np.arctanh(each).mean())
    generator, hits = np.random.default_rng(3), 0
    for run in range(runs):
        both = made(generator, 50)
        found = correlate_series(series_by_model(*both, "ABCD"), ClusterResamples(np.arange(50), resamples, run))
        low, high = found.mean["spearman"].interval
        assert low is not None
        assert high is not None
        hits += low <= truth <= high
    return hits / runs


def test_the_interval_of_the_average_covers() -> None:
    assert covered(200, 200) >= 0.90


@pytest.mark.study
def test_the_interval_of_the_average_covers_in_many_runs() -> None:
    assert 0.935 <= covered(2000, 500) <= 0.97


def test_samples_of_one_image_are_drawn_together() -> None:
    generator = np.random.default_rng(5)
    x = generator.normal(size=40)
    y = x + generator.normal(size=40)
    four = PairedSeries("A", np.repeat(x, 4), np.repeat(y, 4), np.arange(160))
    apart = correlate_series([four], drawn(160)).mean["pearson"]
    together = correlate_series([four], ClusterResamples(np.repeat(np.arange(40), 4), 400, 0)).mean["pearson"]
    assert together.width is not None
    assert apart.width is not None
    assert together.width > 1.6 * apart.width
