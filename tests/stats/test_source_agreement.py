"""Sources of scores side by side, against values worked out by hand and SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.core.human_ratings import ScoreRow
from creval.stats.score_rows import table_from_rows
from creval.stats.scorecard import build_scorecard
from creval.stats.source_agreement import ScoreSource as Source
from creval.stats.source_agreement import compare_sources

stats = pytest.importorskip("scipy.stats")

SAMPLES = [f"s{n}" for n in range(40)]


def source(name: str, means: dict[str, float], spread: float = 1.0, *, seed: int = 0, lower: bool = False) -> Source:
    """Return a source whose models have exactly these means over samples."""
    noise = np.random.default_rng(seed).normal(size=(len(means), len(SAMPLES)))
    noise -= noise.mean(axis=1, keepdims=True)
    rows = [
        ScoreRow(sample, model, "q", mean + spread * float(noise[at, n]))
        for at, (model, mean) in enumerate(means.items())
        for n, sample in enumerate(SAMPLES)
    ]
    return Source(name, build_scorecard(table_from_rows(rows, ["q"] if lower else []), resamples=200))


MEANS = {"A": 5.0, "B": 4.0, "C": 3.0, "D": 2.0}


def test_equal_orders_agree_perfectly() -> None:
    (pair,) = compare_sources([source("one", MEANS), source("two", MEANS, seed=1)], resamples=200).pairs
    assert pair.models == ("A", "B", "C", "D")
    assert (pair.pair_count, pair.reversed_pairs) == (6, ())
    assert pair.over_models["kendall"].value == pytest.approx(1.0)
    assert pair.sample_count == 40


def test_a_source_in_which_lower_is_better_is_turned_round() -> None:
    distance = {name: 10 - mean for name, mean in MEANS.items()}
    comparison = compare_sources([source("judge", MEANS), source("distance", distance, seed=1, lower=True)])
    (pair,) = comparison.pairs
    assert pair.over_models["spearman"].value == pytest.approx(1.0)
    assert pair.reversed_pairs == ()
    assert comparison.models == ("A", "B", "C", "D")
    apart = comparison.sources[1].difference("A", "D")
    assert apart is not None
    assert apart.value == pytest.approx(3.0), "A has the smaller distance, so it is better by 3"
    assert apart.first == "A"
    assert apart.is_decided


def test_rank_correlation_is_that_of_scipy() -> None:
    other = {"A": 1.0, "B": 4.0, "C": 2.5, "D": 2.0}
    (pair,) = compare_sources([source("one", MEANS), source("two", other, seed=1)]).pairs
    for kind, independent in (
        ("kendall", stats.kendalltau),
        ("spearman", stats.spearmanr),
        ("pearson", stats.pearsonr),
    ):
        expected = independent(list(MEANS.values()), list(other.values())).statistic
        assert pair.over_models[kind].value == pytest.approx(expected)


def test_reversed_pairs_say_which_source_decides() -> None:
    # A and B change places by far in both; C and D by little in the second.
    other = {"A": 4.0, "B": 5.0, "C": 2.49, "D": 2.5}
    (pair,) = compare_sources([source("one", MEANS), source("two", other, seed=1)], resamples=200).pairs
    assert [(flipped.better, flipped.worse) for flipped in pair.reversed_pairs] == [("A", "B"), ("C", "D")]
    assert [flipped.decided for flipped in pair.reversed_pairs] == [(True, True), (True, False)]
    first, second = pair.reversed_pairs[0].differences
    assert [first.value, second.value] == pytest.approx([1.0, -1.0])


def test_equal_scores_are_not_reversed() -> None:
    tied = dict.fromkeys(MEANS, 3.0)
    (pair,) = compare_sources([source("one", MEANS), source("two", tied, spread=0.0)], resamples=200).pairs
    assert pair.reversed_pairs == ()
    assert pair.over_models["kendall"].value is None


def test_correlation_over_samples_is_within_models() -> None:
    rows = [(sample, model, float(n)) for model in "AB" for n, sample in enumerate(SAMPLES)]
    up = [ScoreRow(s, m, "q", value) for s, m, value in rows]
    down = [ScoreRow(s, m, "q", -value if m == "B" else value) for s, m, value in rows]
    made = [
        Source(name, build_scorecard(table_from_rows(of), resamples=100)) for name, of in {"u": up, "d": down}.items()
    ]
    (pair,) = compare_sources(made, resamples=100).pairs
    by_model = pair.over_samples.by_series
    assert by_model["A"]["spearman"].value == pytest.approx(1.0)
    assert by_model["B"]["spearman"].value == pytest.approx(-1.0)


def test_only_common_models_are_compared() -> None:
    two = source("two", {"B": 1.0, "E": 2.0})
    comparison = compare_sources([source("one", MEANS), two], resamples=100)
    (pair,) = comparison.pairs
    assert (pair.models, pair.pair_count) == (("B",), 0)
    assert set(comparison.models) == {"A", "B", "C", "D", "E"}


def test_samples_of_one_source_image_are_a_cluster_if_either_source_says_so() -> None:
    one, two = source("one", MEANS), source("two", MEANS, seed=1)
    table = replace(one.card.table, clusters=np.arange(40) // 10)
    clustered = Source("one", build_scorecard(table, resamples=100))
    (narrow,) = compare_sources([one, two], resamples=200).pairs
    (wide,) = compare_sources([clustered, two], resamples=200).pairs
    both = [pair.over_samples.mean["spearman"] for pair in (narrow, wide)]
    assert both[0].value == pytest.approx(both[1].value)
    assert (both[0].low, both[0].high) != (both[1].low, both[1].high)


def test_names_must_differ() -> None:
    with pytest.raises(CrevalError, match="same name"):
        compare_sources([source("one", MEANS), source("one", MEANS)])
