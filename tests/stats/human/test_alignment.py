from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shared_data
import viescore_people
from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating, ScoreRow
from creval.stats.human.alignment import Alignment, align
from creval.stats.human.prediction_powered import predict_mean_rating, prediction_powered_mean
from creval.stats.human.ratings import metric_scores_from_rows

PAPER = {  # CREval, Table 3
    "Bagel": (5.56, 6.02, 7.28, 72.59, 68.99, 49.98),
    "FLUX.1 Kontext dev": (5.81, 7.17, 7.36, 80.38, 75.05, 51.77),
    "Qwen-Image-Edit": (5.82, 6.83, 7.97, 83.02, 79.18, 63.49),
    "GPT-Image-1": (6.05, 6.73, 8.21, 83.15, 78.01, 63.21),
    "Gemini 2.5 Flash Image": (5.77, 7.39, 7.92, 87.14, 81.78, 66.14),
    "Seedream 4.0": (5.88, 7.49, 8.13, 88.47, 84.31, 72.01),
}
METRICS = ("Aesthetic", "VIEScore", "EditScore", "CREval by Qwen3-VL", "CREval by GPT-4o")

SCIPY = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}


def test_table_3_of_the_paper() -> None:
    stats = pytest.importorskip("scipy.stats")
    rows = [ScoreRow("", m, n, v) for m, row in PAPER.items() for n, v in zip(METRICS, row)]  # noqa: B905
    said = [Rating("", (EditKey(model, ""),), "overall", row[-1]) for model, row in PAPER.items()]
    (found,) = align(said, metric_scores_from_rows(rows)).rating_alignments
    people = [row[-1] for row in PAPER.values()]
    for at, held in enumerate(found.metric_alignments):
        assert held.metric == METRICS[at]
        automatic = [row[at] for row in PAPER.values()]
        for kind, name in SCIPY.items():
            expected = getattr(stats, name)(automatic, people)[0]
            assert held.over_models[kind].value == pytest.approx(expected, abs=1e-9)
            assert held.over_samples.mean[kind].value is None
    ranks = {held.metric: held.over_models["spearman"] for held in found.metric_alignments}
    # People's order: Bagel, FLUX, GPT-Image-1, Qwen, Gemini, Seedream. GPT-4o's is the same;
    # Qwen3-VL swaps two neighbours: 1 - 6 * 2 / (6 * 35).
    assert ranks["CREval by GPT-4o"].value == pytest.approx(1.0)
    assert ranks["CREval by Qwen3-VL"].value == pytest.approx(1 - 12 / 210)
    low = ranks["CREval by GPT-4o"].low
    assert low is not None
    assert low < 0.8, "six models leave much open"
    assert found.predictions == ()
    assert found.ceiling is None


def test_ratings_of_models_are_compared_with_their_means() -> None:
    rows = [ScoreRow(f"s{n}", model, "IF", at + n) for at, model in enumerate("ABCDE") for n in range(4)]
    said = [Rating("", (EditKey(m, ""),), "overall", 10.0 * n) for n, m in enumerate("ABCDE")]
    ((held,),) = (said.metric_alignments for said in align(said, metric_scores_from_rows(rows)).rating_alignments)
    assert held.over_models["pearson"].value == pytest.approx(1.0)
    assert (held.model_count, held.value_count) == (5, 5)


def choices(noise: float, seed: int = 0) -> Alignment:
    """Preferences of two raters between two models: by each of two metrics, and by their mean."""
    generator = np.random.default_rng(seed)
    rows, said = [], []
    for n in range(120):
        one, two = generator.uniform(0, 10, (2, 2))
        for model, values in (("A", one), ("B", two)):
            rows += [ScoreRow(f"s{n}", model, m, v) for m, v in zip(("IF", "PQ"), values, strict=True)]
        apart = one - two
        for rater in ("ann", "bob"):
            for metric, gap in (("IF", apart[0]), ("PQ", apart[1]), ("preference", apart.mean())):
                felt = gap + noise * generator.normal()
                choice = "" if abs(felt) < 0.5 else "A" if felt > 0 else "B"
                pair = (EditKey("A", f"s{n}"), EditKey("B", f"s{n}"))
                said.append(Rating(rater, pair, metric, choice=choice))
    return align(said, metric_scores_from_rows(rows), resamples=300)


def test_preferences_are_compared_with_score_differences() -> None:
    found = choices(noise=2.0)
    by_metric, quality, preference = found.rating_alignments
    assert [held.metric for held in by_metric.metric_alignments] == ["IF"]
    assert [held.metric for held in quality.metric_alignments] == ["PQ"]
    names = [held.metric for held in preference.metric_alignments]
    assert names == ["IF", "PQ", "mean of IF, PQ", "mean of IF, PQ, geometric"]
    sample = {held.metric: held.over_samples.mean["pearson"].value or 0 for held in preference.metric_alignments}
    assert sample["mean of IF, PQ"] > sample["mean of IF, PQ, geometric"] > sample["IF"]
    assert preference.weights is not None
    assert preference.weights.best["IF"].value == pytest.approx(0.5, abs=0.1)
    assert preference.ceiling is not None
    assert (preference.rater_count, preference.value_count) == (2, 240)
    people, scored = preference.model_wins["A"]
    assert people.value == pytest.approx(1 - (preference.model_wins["B"][0].value or 0))
    assert scored.value is not None
    assert preference.pair_wins == {"A / B": preference.model_wins["A"]}


def test_without_noise_every_comparison_is_right() -> None:
    (held,) = choices(noise=0.0).rating_alignments[0].metric_alignments
    assert held.accuracy.value == 1.0
    assert held.accuracy.low is not None
    assert 0.9 < held.accuracy.low < 1


def test_ratings_and_scores_must_share_models_and_samples() -> None:
    said = [Rating("ann", (EditKey("X", "s1"),), "overall", 50.0)]
    with pytest.raises(CrevalError, match="no model and sample in common"):
        align(said, metric_scores_from_rows([ScoreRow("s1", "A", "IF", 1.0)]))


@pytest.fixture(scope="module")
def editing() -> Path:
    """Human ratings of editing models, and judges' scores of the same edits."""
    folder = shared_data.viescore_editing()
    if folder is None:
        pytest.skip(f"needs viescore-editing.tar.xz in {shared_data.SHARED / 'data'}")
    return folder


def aligned(editing: Path, task: str, judge: str) -> Alignment:
    said = [
        Rating(rater, (EditKey(model, sample),), metric, 100 * value)
        for rater, sample, model, metric, value, _ in viescore_people.ratings(editing, task)
        if metric == "O"
    ]
    rows = [ScoreRow(*row) for row in viescore_people.scores(editing, task, judge)]
    return align(said, metric_scores_from_rows(rows), resamples=200)


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Text-Guided_IE", (0.419, 0.287, 0.027)),
        ("Mask-Guided_IE", (0.524, 0.386, 0.068)),
        ("Subject-Driven_IE", (0.342, 0.227, 0.017)),
    ],
)
def test_correlations_of_judges_are_those_that_viescore_reports(
    editing: Path, task: str, expected: tuple[float, ...]
) -> None:
    for judge, value in zip(viescore_people.JUDGES, expected, strict=True):
        (said,) = aligned(editing, task, judge).rating_alignments
        (held,) = said.metric_alignments
        found = held.over_samples.mean["spearman"]
        assert found.value == pytest.approx(value, abs=0.003)
        assert found.low is not None
        assert found.high is not None
        assert found.low < value < found.high
        assert said.ceiling is not None
        assert (said.ceiling.over_samples.mean["spearman"].value or 0) > value


def test_scores_narrow_the_interval_of_a_quarter_of_the_ratings(editing: Path) -> None:
    found = aligned(editing, "Text-Guided_IE", "gpt4o")
    scores, units = found.scores.oriented_values("O"), found.scores.clusters
    people: dict[tuple[str, str], list[float]] = {}
    for _, sample, model, metric, value, _ in viescore_people.ratings(editing, "Text-Guided_IE"):
        if metric == "O":
            people.setdefault((model, sample), []).append(100 * value)
    generator = np.random.default_rng(0)
    draws = []
    tenth = 0
    for at, model in enumerate(found.scores.models):
        said = np.array([np.mean(people[model, sample]) for sample in found.scores.samples])
        for _ in range(500):
            order = generator.permutation(len(said))
            few = np.where(order < len(said) // 4, said, np.nan)
            guess = predict_mean_rating(model, few, scores[at], units)
            both = [prediction_powered_mean(few, scores[at], units, weight) for weight in (guess.weight, 0.0)]
            held = [(e.low or 0.0) <= said.mean() <= (e.high or 0.0) for e in both]
            draws.append([*held, *(e.width for e in both), not guess.unreliable_reason])
            fewer = np.where(order < len(said) // 10, said, np.nan)
            tenth += not predict_mean_rating(model, fewer, scores[at], units).unreliable_reason
    assert tenth == 0, "a tenth of the ratings is too few"
    every = np.array(draws, dtype=np.float64)
    for drawn in (every, every[every[:, 4] == 1]):
        predicted, classical, width, wider, trusted = drawn.mean(axis=0)
        assert abs(predicted - classical) <= 0.02
        assert width <= 0.9 * wider
    assert trusted == 1
    assert classical >= 0.935, "where an interval is given, it holds"
