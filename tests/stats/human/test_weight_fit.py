from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from creval.stats.human.paired_series import ClusterResamples
from creval.stats.human.ratings import HumanScores, MetricScores, Preference
from creval.stats.human.weight_fit import fit_weights
from creval.stats.score_table import Floats

PARTS = ("IF", "VC", "VQ")
TRUTH = np.array([0.6, 0.3, 0.1])
GIVEN = {"IF": 0.4, "VC": 0.4, "VQ": 0.2}


def scores(values: Floats) -> MetricScores:
    """Scores from values with the axes metric, model, sample."""
    _, models, samples = values.shape
    names = tuple(f"s{n}" for n in range(samples))
    units = np.arange(samples)
    return MetricScores(PARTS, tuple("ABCDEF"[:models]), names, values, units, "S", GIVEN)


def made(generator: np.random.Generator, samples: int, noise: float = 15.0) -> tuple[Floats, HumanScores]:
    values = np.clip(generator.normal(60, 20, (3, 4, samples)), 0, 100)
    people = np.einsum("k,kms->ms", TRUTH, values) + generator.normal(0, noise, (4, samples))
    return values, HumanScores("overall", ("ann",), people[None])


def drawn(samples: int, resamples: int = 400, seed: int = 0) -> ClusterResamples:
    return ClusterResamples(np.arange(samples), resamples, seed)


def test_weights_are_those_of_least_squares() -> None:
    values, word = made(np.random.default_rng(1), 200)
    found = fit_weights(word, PARTS, scores(values), drawn(200))
    assert found is not None
    x = (values - values.mean(axis=2, keepdims=True)).reshape(3, -1).T
    y = (word.ratings[0] - word.ratings[0].mean(axis=1, keepdims=True)).ravel()
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    best = [found.best[name].value for name in PARTS]
    assert best == pytest.approx(plain / plain.sum(), abs=1e-6)
    assert found.difference.low is not None
    assert found.difference.low > 0, "other weights than the given ones are better, and it shows"
    for value, low, high in map(astuple, found.best.values()):
        assert value is not None
        assert low is not None
        assert high is not None
        assert 0 <= low <= value <= high <= 1


def test_no_weight_is_negative() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    generator = np.random.default_rng(2)
    values = generator.normal(60, 20, (3, 2, 80))
    people = values[0] - 0.8 * values[1] + generator.normal(0, 10, (2, 80))
    found = fit_weights(HumanScores("o", ("a",), people[None]), PARTS, scores(values), drawn(80))
    assert found is not None
    x = (values - values.mean(axis=2, keepdims=True)).reshape(3, -1).T
    y = (people - people.mean(axis=1, keepdims=True)).ravel()
    plain = optimize.nnls(x, y)[0]
    best = [found.best[name].value for name in PARTS]
    assert best == pytest.approx(plain / plain.sum(), abs=1e-6)


def test_optimal_weights_are_not_beaten_on_new_samples() -> None:
    generator = np.random.default_rng(3)
    values = generator.normal(60, 20, (3, 4, 150))
    share = np.array([0.4, 0.4, 0.2])
    people = np.einsum("k,kms->ms", share, values) + generator.normal(0, 30, (4, 150))
    found = fit_weights(HumanScores("o", ("a",), people[None]), PARTS, scores(values), drawn(150))
    assert found is not None
    assert found.difference.low is not None
    assert found.difference.low < 0.01


def test_weights_from_preferences() -> None:
    generator = np.random.default_rng(4)
    values = generator.normal(60, 20, (3, 2, 400))
    apart = np.einsum("k,ks->s", TRUTH, values[:, 0] - values[:, 1]) + generator.normal(0, 8, 400)
    said = tuple(Preference(0, n, 0, 1, float(np.sign(apart[n]))) for n in range(400))
    word = HumanScores("overall", ("ann",), np.empty((0, 2, 400)), said)
    found = fit_weights(word, PARTS, scores(values), drawn(400))
    assert found is not None
    best = [found.best[name].value for name in PARTS]
    assert best == pytest.approx(TRUTH, abs=0.08)


def test_few_samples_have_no_best_weights() -> None:
    values, word = made(np.random.default_rng(5), 20)
    assert fit_weights(word, PARTS, scores(values), drawn(20)) is None
    values, word = made(np.random.default_rng(5), 60)
    against = HumanScores("o", ("a",), -word.ratings)
    assert fit_weights(against, PARTS, scores(values), drawn(60)) is None


def covered(runs: int, resamples: int) -> list[float]:
    """Return the coverage of the intervals of the weights, and of their gain on 100,000 new samples."""
    many, said = made(np.random.default_rng(0), 25_000)
    given = np.array([GIVEN[name] for name in PARTS])

    def reached(weights: Floats) -> float:
        sums, people = np.einsum("k,kms->ms", weights, many), said.ratings[0]
        return float(np.corrcoef(sums.ravel(), people.ravel())[0, 1])

    generator = np.random.default_rng(6)
    gains, held = [], []
    for run in range(runs):
        values, word = made(generator, 60)
        found = fit_weights(word, PARTS, scores(values), drawn(60, resamples, run))
        assert found is not None
        best = [found.best[name] for name in PARTS]
        gains.append(reached(np.array([weight.value for weight in best])) - reached(given))
        ends = [*best, found.difference]
        held.append([(end.low or 0.0, end.high or 0.0) for end in ends])
    low, high = np.array(held).transpose(2, 0, 1)
    truth = np.append(TRUTH, np.mean(gains))
    hits: list[float] = ((low <= truth) & (truth <= high)).mean(axis=0).tolist()
    return hits


def test_intervals_of_weights_cover() -> None:
    assert min(covered(150, 200)) >= 0.89


@pytest.mark.study
def test_intervals_of_weights_cover_in_many_runs() -> None:
    assert min(covered(2000, 500)) >= 0.935
