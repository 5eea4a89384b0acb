from __future__ import annotations

import numpy as np
import pytest

from creval.core.human_ratings import ScoreRow
from creval.stats.human.paired_series import ClusterResamples
from creval.stats.human.rater_ceiling import compute_rater_alpha, compute_rater_ceiling
from creval.stats.human.ratings import HumanScores, MetricScores, Preference, metric_scores_from_rows
from creval.stats.score_table import Floats

SAMPLES = 60


def scores() -> MetricScores:
    rows = [ScoreRow(f"s{n}", m, "x", 1.0) for m in ("A", "B") for n in range(SAMPLES)]
    return metric_scores_from_rows(rows)


def drawn(samples: int = SAMPLES, resamples: int = 300, seed: int = 0) -> ClusterResamples:
    return ClusterResamples(np.arange(samples), resamples, seed)


def ratings(generator: np.random.Generator, samples: int = SAMPLES, noise: float = 0.7) -> Floats:
    """Ratings of two models by three raters."""
    good = generator.normal(size=(2, samples))
    return np.round(2 * (good + noise * generator.normal(size=(3, 2, samples))))


def test_alpha_is_krippendorffs() -> None:
    krippendorff = pytest.importorskip("krippendorff")
    values = ratings(np.random.default_rng(1))
    values[0, 1, :40] = np.nan
    values[1:, 0, 7] = np.nan
    expected = krippendorff.alpha(values.reshape(3, -1), level_of_measurement="interval")
    found = compute_rater_alpha(HumanScores("x", ("1", "2", "3"), values), drawn())
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high
    said = np.sign(values[:, 0])
    choices = tuple(Preference(r, s, 0, 1, float(said[r, s])) for r, s in np.argwhere(~np.isnan(said)).tolist())
    expected = krippendorff.alpha(said, level_of_measurement="interval")
    word = HumanScores("x", ("1", "2", "3"), np.empty((0, 2, SAMPLES)), choices)
    assert compute_rater_alpha(word, drawn()).value == pytest.approx(expected, abs=1e-9)


def test_each_rater_is_compared_with_the_mean_of_the_others() -> None:
    values = ratings(np.random.default_rng(2))
    found = compute_rater_ceiling(HumanScores("x", ("ann", "bob", "eve"), values), scores(), drawn())
    assert found is not None
    assert found.rater_count == 3
    assert sorted(found.over_samples.by_series) == ["A", "B"]
    rest = [np.delete(values[:, 0], at, axis=0).mean(axis=0) for at in range(3)]
    each = [np.corrcoef(values[at, 0], rest[at])[0, 1] for at in range(3)]
    assert found.over_samples.by_series["A"]["pearson"].value == pytest.approx(np.mean(each))
    assert found.accuracy.value is not None
    assert found.accuracy.value > 0.7


def test_preferences_are_compared_with_those_of_the_others() -> None:
    generator = np.random.default_rng(3)
    good = generator.normal(size=SAMPLES)
    said = np.sign(good + 0.5 * generator.normal(size=(3, SAMPLES)))
    choices = tuple(Preference(r, s, 0, 1, float(said[r, s])) for r in range(3) for s in range(SAMPLES))
    word = HumanScores("x", ("ann", "bob", "eve"), np.empty((0, 2, SAMPLES)), choices)
    found = compute_rater_ceiling(word, scores(), drawn())
    assert found is not None
    rest = [np.delete(said, at, axis=0).mean(axis=0) for at in range(3)]
    each = [np.corrcoef(said[at], rest[at])[0, 1] for at in range(3)]
    assert found.over_samples.by_series["A / B"]["pearson"].value == pytest.approx(np.mean(each))
    right = [(said[at] == np.sign(rest[at]))[rest[at] != 0] for at in range(3)]
    assert found.accuracy.value == pytest.approx(np.concatenate(right).mean())


def test_no_ceiling_if_raters_share_no_edit() -> None:
    values = ratings(np.random.default_rng(4))
    values[0, :, ::2] = np.nan
    values[1, :, 1::2] = np.nan
    assert compute_rater_ceiling(HumanScores("x", ("ann", "bob"), values[:2]), scores(), drawn()) is None
    assert compute_rater_alpha(HumanScores("x", ("ann", "bob"), values[:2]), drawn()).value is None


def covered(runs: int, resamples: int) -> list[float]:
    """Return the coverage of the intervals of alpha and of the correlation of one rater with the others."""
    raters = ("1", "2", "3")
    many = ratings(np.random.default_rng(0), 60_000)
    alphas = compute_rater_alpha(HumanScores("x", raters, many), drawn(60_000, 2)).value or 0.0
    rest = [np.delete(many, at, axis=0).mean(axis=0) for at in range(3)]
    each = [[np.corrcoef(many[r, m], rest[r][m])[0, 1] for r in range(3)] for m in range(2)]
    persons = np.tanh(np.arctanh(np.mean(each, axis=1)).mean())
    generator, held = np.random.default_rng(6), []
    for run in range(runs):
        found = compute_rater_ceiling(
            HumanScores("x", raters, ratings(generator)), scores(), drawn(SAMPLES, resamples, run)
        )
        assert found is not None
        both = (found.alpha, alphas), (found.over_samples.mean["pearson"], persons)
        held.append([(end.low or 0.0) <= truth <= (end.high or 0.0) for end, truth in both])
    hits: list[float] = np.mean(held, axis=0).tolist()
    return hits


def test_intervals_between_raters_cover() -> None:
    assert min(covered(150, 200)) >= 0.89


@pytest.mark.study
def test_intervals_between_raters_cover_in_many_runs() -> None:
    assert min(covered(2000, 500)) >= 0.935
