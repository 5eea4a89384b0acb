from __future__ import annotations

import numpy as np
import pytest

from creval.analysis.scoring import build_score_table
from creval.core.edit_record import EditKey
from creval.core.human_ratings import Rating, ScoreRow
from creval.stats.human.ratings import (
    HumanScores,
    Preference,
    collect_human_scores,
    metric_scores_from_rows,
    metric_scores_from_table,
    with_means,
)
from creval.store import Run

ROWS = [
    ScoreRow("s1", "A", "IF", 4.0),
    ScoreRow("s1", "B", "IF", 9.0),
    ScoreRow("s2", "A", "IF", 1.0),
    ScoreRow("s1", "A", "PQ", 16.0),
    ScoreRow("s1", "B", "PQ", 0.0),
]


def test_scores_have_the_axes_metric_model_sample() -> None:
    scores = metric_scores_from_rows(ROWS, lower_is_better=["PQ"])
    np.testing.assert_array_equal(scores.oriented_values("IF"), [[4.0, 1.0], [9.0, np.nan]])
    np.testing.assert_array_equal(scores.oriented_values("PQ"), [[-16.0, np.nan], [-0.0, np.nan]])
    assert scores.main_metric == "IF"
    assert len(set(scores.clusters)) == 2


def test_samples_of_one_image_are_a_cluster() -> None:
    rows = [ScoreRow(f"s{n}", "A", "IF", 1.0, source) for n, source in enumerate(["p", "q", "p", ""])]
    units = metric_scores_from_rows(rows).clusters
    assert units[0] == units[2]
    assert len(set(units)) == 3


def test_metrics_have_an_arithmetic_and_a_geometric_mean() -> None:
    scores = with_means(metric_scores_from_rows(ROWS), ["IF", "PQ"])
    assert scores.metrics == ("IF", "PQ", "mean of IF, PQ", "mean of IF, PQ, geometric")
    assert scores.main_metric == "mean of IF, PQ"
    np.testing.assert_allclose(scores.oriented_values(scores.main_metric)[:, 0], [10.0, 4.5])
    np.testing.assert_allclose(scores.oriented_values("mean of IF, PQ, geometric")[:, 0], [8.0, 0.0])


def test_a_run_has_its_composite_and_the_geometric_mean(small_run: Run) -> None:
    scores = metric_scores_from_table(build_score_table(small_run))
    assert scores.metrics == ("IF", "VC", "VQ", "S", "S, geometric")
    assert scores.weights == {"IF": 0.4, "VC": 0.4, "VQ": 0.2}
    parts = [scores.oriented_values(name) for name in ("IF", "VC", "VQ")]
    np.testing.assert_allclose(scores.oriented_values("S"), 0.4 * parts[0] + 0.4 * parts[1] + 0.2 * parts[2])
    with np.errstate(divide="ignore"):
        expected = parts[0] ** 0.4 * parts[1] ** 0.4 * parts[2] ** 0.2
    np.testing.assert_allclose(scores.oriented_values("S, geometric"), expected)


def test_means_that_differ_only_by_rounding_are_equal() -> None:
    said = [100 * (rating - 1) / 6 for rating in (1, 1, 6, 1, 2, 5)]
    ratings = np.array(said).reshape(2, 3).T[:, None, :]
    assert len(np.unique(ratings.mean(axis=0))) == 2
    word = HumanScores("overall", ("a", "b", "c"), ratings)
    assert len(np.unique(word.mean_over_raters())) == 1


def test_ratings_without_a_score_are_counted_by_name() -> None:
    said = [
        Rating("ann", (EditKey("A", "s1"),), "IF", 50.0),
        Rating("bob", (EditKey("A", "s1"),), "IF", 100.0),
        Rating("ann", (EditKey("C", "s1"),), "IF", 50.0),
        Rating("ann", (EditKey("A", "s9"),), "IF", 50.0),
        Rating("ann", (EditKey("A", "s1"), EditKey("B", "s1")), "overall", choice="B"),
        Rating("ann", (EditKey("A", "s2"), EditKey("B", "s2")), "overall", choice=""),
    ]
    (ratings, choices), unmatched = collect_human_scores(said, metric_scores_from_rows(ROWS))
    assert (unmatched.ratings, unmatched.models, unmatched.samples) == (2, ("C",), ("s9",))
    assert ratings.raters == ("ann", "bob")
    assert ratings.mean_over_raters()[0, 0] == pytest.approx(75.0)
    assert np.isnan(ratings.mean_over_raters()[1]).all()
    assert choices.preferences == (Preference(0, 0, 0, 1, -1.0), Preference(0, 1, 0, 1, 0.0))
