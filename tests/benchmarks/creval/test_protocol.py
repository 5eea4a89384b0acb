"""Tests of CREval's formula, with samples worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.benchmarks.creval.protocol import CREval
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.schema import Score

PROTOCOL, SAMPLE = CREval(), Sample("s", "do")


def question(metric: str, n: int, released: str = "Yes", weight: float = 1.0) -> Question:
    reference = {"** yes": "Yes", "yes": "Yes", "no": "No"}.get(released.casefold())
    return Question(f"{metric}/{n}", metric, "?", reference=reference, released_reference=released, weight=weight)


VC = [question("VC", 1, weight=3), question("VC", 2, weight=2), question("VC", 3, weight=1)]


def test_weights_count() -> None:
    scores = PROTOCOL.score(SAMPLE, VC, {"VC/1": 1.0, "VC/2": 0.0, "VC/3": 1.0})
    assert scores["VC"] == Score(100 * 4 / 6, 3, 3)
    assert scores["IF"] == Score(None, 0, 0)


def test_a_reference_of_no_is_met_by_no() -> None:
    asked = [question("IF", 1, "No"), question("IF", 2)]
    assert PROTOCOL.score(SAMPLE, asked, {"IF/1": 0.0, "IF/2": 0.0})["IF"].value == 50


def test_unanswered_questions_are_excluded_from_the_denominator() -> None:
    scores = PROTOCOL.score(SAMPLE, VC, {"VC/1": None, "VC/2": 0.0, "VC/3": 1.0})
    assert scores["VC"] == Score(100 / 3, 2, 3)
    assert PROTOCOL.score(SAMPLE, VC, dict.fromkeys(["VC/1", "VC/2", "VC/3"]))["VC"].value is None


def test_strictly_it_is_wrong() -> None:
    values = {"VC/1": None, "VC/2": 0.0, "VC/3": 1.0}
    assert PROTOCOL.score(SAMPLE, VC, values, strict=True)["VC"] == Score(100 / 6, 3, 3)


def test_strictly_the_reference_counts_as_released() -> None:
    asked = [question("VC", 1, "** Yes"), question("VC", 2, "yes"), question("VC", 3, "")]
    values = {"VC/1": 1.0, "VC/2": 1.0, "VC/3": 1.0}
    assert PROTOCOL.score(SAMPLE, asked, values)["VC"] == Score(100.0, 2, 3)
    assert PROTOCOL.score(SAMPLE, asked, values, strict=True)["VC"] == Score(100 / 3, 3, 3)


def test_unasked_questions_are_not_scored_even_strictly() -> None:
    for strict in (False, True):
        scores = PROTOCOL.score(SAMPLE, VC, {"VC/1": 1.0}, strict=strict)
        assert scores["VC"] == Score(100.0, 1, 3)


METRICS = st.sampled_from(["IF", "VC", "VQ"])
VALUES = st.sampled_from([0.0, 1.0, None])
ANSWERS = st.lists(st.tuples(METRICS, st.integers(1, 3), VALUES), min_size=1, max_size=20)


@given(ANSWERS, st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_questions_and_answers_does_not_matter(
    answers: list[tuple[str, int, float | None]], random: object, strict: bool
) -> None:
    asked = [question(metric, n, weight=w) for n, (metric, w, _) in enumerate(answers)]
    values = {q.id: value for q, (_, _, value) in zip(asked, answers, strict=True)}
    expected = PROTOCOL.score(SAMPLE, asked, values, strict=strict)
    random.shuffle(asked)  # type: ignore[attr-defined]
    shuffled = list(values.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = PROTOCOL.score(SAMPLE, asked, dict(shuffled), strict=strict)
    for metric, score in expected.items():
        assert found[metric].scored == score.scored
        assert found[metric].value == pytest.approx(score.value)


@given(ANSWERS, st.integers(2, 9))
def test_scores_lie_in_range_and_do_not_change_with_the_scale_of_weights(
    answers: list[tuple[str, int, float | None]], factor: int
) -> None:
    asked = [question(metric, n, weight=w) for n, (metric, w, _) in enumerate(answers)]
    values = {q.id: value for q, (_, _, value) in zip(asked, answers, strict=True)}
    heavier = [q._replace(weight=q.weight * factor) for q in asked]
    for metric, score in PROTOCOL.score(SAMPLE, asked, values).items():
        assert score.value is None or 0 <= score.value <= 100
        assert PROTOCOL.score(SAMPLE, heavier, values)[metric].value == pytest.approx(score.value)
