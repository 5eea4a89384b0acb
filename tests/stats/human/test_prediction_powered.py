from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from creval.stats.human.prediction_powered import MIN_RATED, predict_mean_rating, unreliable_reason
from creval.stats.score_table import Floats

Made = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def made(generator: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    """Human ratings in percent, a third of them zero, and a judge's scores from 0 to 10."""
    good = generator.normal(0, 1, size)
    said = np.clip(np.round(2 * (0.8 + good + generator.normal(0, 0.4, size))), 0, 4) * 25
    return said, np.clip(np.round(5 + 2 * good + generator.normal(0, 1.5, size)), 0, 10)


def rated(values: Floats, few: int) -> Floats:
    return np.where(np.arange(len(values)) < few, values, np.nan)


def test_the_mean_is_that_of_ppi_python() -> None:
    ppi = pytest.importorskip("ppi_py")
    generator = np.random.default_rng(2)
    for few in (40, 200, 800):
        ratings, scores = made(generator, 2000)
        found = predict_mean_rating("A", rated(ratings, few), scores, np.arange(2000))
        y, seen, unseen = ratings[:few], scores[:few], scores[few:]
        # With the library's own weight, which it clips to the range from 0 to 1.
        near = ppi.ppi_mean_pointestimate(y, 10 * seen, 10 * unseen)
        assert found.predicted.value == pytest.approx(float(near[0]), abs=0.15)
        same = ppi.ppi_mean_pointestimate(y, seen, unseen, lam=found.weight)
        assert found.predicted.value == pytest.approx(float(same[0]), abs=1e-9)
        low, high = ppi.ppi_mean_ci(y, seen, unseen, alpha=0.05, lam=found.weight)
        assert found.predicted.width == pytest.approx(high[0] - low[0], rel=0.06)


def test_ratings_alone_have_students_interval_corrected_for_skewness() -> None:
    stats = pytest.importorskip("scipy.stats")
    ratings, scores = made(np.random.default_rng(3), 300)
    found = predict_mean_rating("A", rated(ratings, 60), scores, np.arange(300))
    y = ratings[:60]
    expected = stats.t.interval(0.95, 59, loc=y.mean(), scale=stats.sem(y))
    assert found.classical.width == pytest.approx(expected[1] - expected[0], rel=1e-6)
    quantile = stats.t.ppf(0.975, 59)
    moved = stats.skew(y) * y.std() / (6 * 60) * (1 + 2 * quantile**2)
    assert found.classical.low == pytest.approx(expected[0] + moved, rel=1e-3)
    assert found.interval_reduction is not None
    assert found.interval_reduction > 0.1


def test_constant_scores_do_not_change_the_estimate() -> None:
    ratings, _ = made(np.random.default_rng(4), 300)
    found = predict_mean_rating("A", rated(ratings, 60), np.full(300, 7.0), np.arange(300))
    assert found.weight == 0.0
    assert found.predicted == found.classical
    everything = predict_mean_rating("A", ratings, ratings, np.arange(300))
    assert everything.predicted == everything.classical
    assert (everything.rated, everything.scored) == (300, 300)


def test_negated_scores_narrow_the_interval_as_much() -> None:
    ratings, scores = made(np.random.default_rng(5), 400)
    up = predict_mean_rating("A", rated(ratings, 80), scores, np.arange(400))
    down = predict_mean_rating("A", rated(ratings, 80), -3 * scores, np.arange(400))
    assert down.predicted == pytest.approx(up.predicted)


def test_edits_of_one_image_are_a_cluster() -> None:
    ratings, scores = made(np.random.default_rng(6), 100)
    four, judged = (np.repeat(values, 4) for values in (rated(ratings, 40), scores))
    apart = predict_mean_rating("A", four, judged, np.arange(400))
    alike = predict_mean_rating("A", four, judged, np.repeat(np.arange(100), 4))
    assert apart.predicted.width is not None
    assert alike.predicted.width is not None
    assert alike.predicted.width == pytest.approx(2 * apart.predicted.width, rel=0.1)


def test_few_or_equal_ratings_have_no_reliable_interval() -> None:
    assert "only 18 rated edits, at least 30" in unreliable_reason(np.arange(18.0))
    flat = np.zeros(90)
    flat[:4] = 50.0
    assert unreliable_reason(flat) == "all but 4 of 90 ratings are the same"
    flat[4] = 25.0
    assert unreliable_reason(flat) == ""
    found = predict_mean_rating("A", rated(np.zeros(50), 40), np.arange(50.0), np.arange(50))
    assert found.unreliable_reason
    assert (found.predicted.value, found.predicted.low, found.predicted.high) == (0.0, None, None)
    nobody = predict_mean_rating("A", np.full(50, np.nan), np.arange(50.0), np.arange(50))
    assert nobody.predicted.value is None


def skewed(generator: np.random.Generator, size: int) -> tuple[Floats, Floats]:
    """Ratings of a model that mostly fails: four of five are zero."""
    works = generator.random(size) < 0.2
    said = np.where(works, generator.choice([25.0, 50.0, 75.0, 100.0], size), 0.0)
    return said, np.clip(said / 20 + generator.normal(1, 1.5, size) + works, 0, 10)


def covered(runs: int, few: int, of: Made = made) -> float:
    """Return the coverage of the intervals that exist."""
    truth = of(np.random.default_rng(0), 500_000)[0].mean()
    generator, hits = np.random.default_rng(7), []
    for _ in range(runs):
        ratings, scores = of(generator, 300)
        found = predict_mean_rating("A", rated(ratings, few), scores, np.arange(300)).predicted
        if found.low is not None and found.high is not None:
            hits.append(found.low <= truth <= found.high)
    assert len(hits) > runs / 2
    return float(np.mean(hits))


@pytest.mark.parametrize("of", [made, skewed])
def test_predicted_intervals_cover(of: Made) -> None:
    assert covered(400, 60, of) >= 0.91


@pytest.mark.study
@pytest.mark.parametrize("few", [MIN_RATED, 60, 150])
@pytest.mark.parametrize("of", [made, skewed])
def test_predicted_intervals_cover_in_many_runs(few: int, of: Made) -> None:
    assert 0.935 <= covered(2000, few, of) <= 0.98
