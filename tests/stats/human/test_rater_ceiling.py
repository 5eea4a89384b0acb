from __future__ import annotations

import numpy as np
import pytest

from creval.core.human_ratings import ScoreRow
from creval.stats.human.paired_series import Resamples
from creval.stats.human.rater_ceiling import alpha, ceiling
from creval.stats.human.ratings import Choice, Scores, Word, scores_of_rows
from creval.stats.score_table import Floats

SAMPLES = 60


def scores() -> Scores:
    rows = [ScoreRow(f"s{n}", m, "x", 1.0) for m in ("A", "B") for n in range(SAMPLES)]
    return scores_of_rows(rows)


def drawn(samples: int = SAMPLES, resamples: int = 300, seed: int = 0) -> Resamples:
    return Resamples(np.arange(samples), resamples, seed)


def ratings(generator: np.random.Generator, samples: int = SAMPLES, noise: float = 0.7) -> Floats:
    """Three raters, two models."""
    good = generator.normal(size=(2, samples))
    return np.round(2 * (good + noise * generator.normal(size=(3, 2, samples))))


def test_alpha_is_krippendorffs() -> None:
    krippendorff = pytest.importorskip("krippendorff")
    values = ratings(np.random.default_rng(1))
    values[0, 1, :40] = np.nan
    values[1:, 0, 7] = np.nan
    expected = krippendorff.alpha(values.reshape(3, -1), level_of_measurement="interval")
    found = alpha(Word("x", ("1", "2", "3"), values), drawn())
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high
    said = np.sign(values[:, 0])
    choices = tuple(
        Choice(r, s, 0, 1, float(said[r, s])) for r, s in np.argwhere(~np.isnan(said)).tolist()
    )
    expected = krippendorff.alpha(said, level_of_measurement="interval")
    word = Word("x", ("1", "2", "3"), np.empty((0, 2, SAMPLES)), choices)
    assert alpha(word, drawn()).value == pytest.approx(expected, abs=1e-9)


def test_each_person_is_held_against_the_mean_of_the_others() -> None:
    values = ratings(np.random.default_rng(2))
    found = ceiling(Word("x", ("ann", "bob", "eve"), values), scores(), drawn())
    assert found is not None
    assert found.raters == 3
    assert sorted(found.sample.strands) == ["A", "B"]
    rest = [np.delete(values[:, 0], at, axis=0).mean(axis=0) for at in range(3)]
    each = [np.corrcoef(values[at, 0], rest[at])[0, 1] for at in range(3)]
    assert found.sample.strands["A"]["pearson"].value == pytest.approx(np.mean(each))
    assert found.accuracy.value is not None
    assert found.accuracy.value > 0.7


def test_choices_are_held_against_those_of_the_others() -> None:
    generator = np.random.default_rng(3)
    good = generator.normal(size=SAMPLES)
    said = np.sign(good + 0.5 * generator.normal(size=(3, SAMPLES)))
    choices = tuple(Choice(r, s, 0, 1, float(said[r, s])) for r in range(3) for s in range(SAMPLES))
    word = Word("x", ("ann", "bob", "eve"), np.empty((0, 2, SAMPLES)), choices)
    found = ceiling(word, scores(), drawn())
    assert found is not None
    rest = [np.delete(said, at, axis=0).mean(axis=0) for at in range(3)]
    each = [np.corrcoef(said[at], rest[at])[0, 1] for at in range(3)]
    assert found.sample.strands["A / B"]["pearson"].value == pytest.approx(np.mean(each))
    right = [(said[at] == np.sign(rest[at]))[rest[at] != 0] for at in range(3)]
    assert found.accuracy.value == pytest.approx(np.concatenate(right).mean())


def test_people_who_share_no_edit_have_no_ceiling() -> None:
    values = ratings(np.random.default_rng(4))
    values[0, :, ::2] = np.nan
    values[1, :, 1::2] = np.nan
    assert ceiling(Word("x", ("ann", "bob"), values[:2]), scores(), drawn()) is None
    assert alpha(Word("x", ("ann", "bob"), values[:2]), drawn()).value is None


def covered(runs: int, resamples: int) -> list[float]:
    """How often the intervals of alpha, and of one person against the others, hold the truth."""
    raters = ("1", "2", "3")
    many = ratings(np.random.default_rng(0), 60_000)
    alphas = alpha(Word("x", raters, many), drawn(60_000, 2)).value or 0.0
    rest = [np.delete(many, at, axis=0).mean(axis=0) for at in range(3)]
    each = [[np.corrcoef(many[r, m], rest[r][m])[0, 1] for r in range(3)] for m in range(2)]
    persons = np.tanh(np.arctanh(np.mean(each, axis=1)).mean())
    generator, held = np.random.default_rng(6), []
    for run in range(runs):
        found = ceiling(
            Word("x", raters, ratings(generator)), scores(), drawn(SAMPLES, resamples, run)
        )
        assert found is not None
        both = (found.alpha, alphas), (found.sample.mean["pearson"], persons)
        held.append([(end.low or 0.0) <= truth <= (end.high or 0.0) for end, truth in both])
    hits: list[float] = np.mean(held, axis=0).tolist()
    return hits


def test_intervals_between_people_hold_the_truth() -> None:
    assert min(covered(150, 200)) >= 0.89


@pytest.mark.study
def test_intervals_between_people_hold_the_truth_in_many_runs() -> None:
    assert min(covered(2000, 500)) >= 0.935
