"""What a reply says about each question."""

from __future__ import annotations

import math

import pytest

from creval.core.probe import Question
from creval.core.scales import contract_named
from creval.core.verdict import Status, Verdict
from creval.judges.base import Request, status_of
from creval.judging.requests import verdicts_of
from creval.providers.openai_wire import Choice, Position

QUESTION = Question("IF/1", "IF", "Is it red?")
REQUEST = Request([], "Q1: Is it red?", contract_named("yes/no"), ["Q1"])


def place(token: str, **options: float) -> Position:
    return Position(token, tuple((word, math.log(p)) for word, p in options.items()))


def read(choice: Choice, weighed: bool = False) -> Verdict:
    return verdicts_of(choice, REQUEST, [QUESTION], weighed=weighed)[0]


@pytest.mark.parametrize(
    ("choice", "status", "why"),
    [
        (Choice("I cannot.", "refusal"), Status.REFUSED, "the judge declined: I cannot."),
        (Choice("", "refusal"), Status.REFUSED, "a filter declined"),
        (Choice(""), Status.MISSING, "the reply was empty"),
        (Choice("It is", "length"), Status.MISSING, "the reply was cut off"),
    ],
)
def test_why_there_is_no_answer(choice: Choice, status: Status, why: str) -> None:
    verdict = read(choice)
    assert (verdict.status, verdict.value) == (status, None)
    assert verdict.explanation.startswith(why)


def test_what_was_said_before_a_cut_counts() -> None:
    assert read(Choice('{"Q1": {"answer": "Yes"}, "Q2": {"ans', "length")).value == 1.0
    assert status_of(Choice("Yes")) is Status.ANSWERED
    assert status_of(Choice(" ")) is Status.MISSING


def test_thoughts_are_not_answers() -> None:
    assert read(Choice("<think>No? Q1: No. Or yes.</think>\nYes.")).value == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes, looks red. But wait ...\n</think>\n\nNo", 0.0),
        ("<think>\nQ1: Yes, at first sight.\nBut wait", None),
        ('<think>{"Q1": "Yes"}', None),
    ],
)
def test_thoughts_of_which_a_part_is_missing(text: str, value: float | None) -> None:
    assert read(Choice(text, "length")).value is None or value is not None
    assert read(Choice(text)).value == value


def test_the_last_line_of_what_was_cut_off_may_be_the_beginning_of_another() -> None:
    both = [QUESTION._replace(id=f"IF/{n}", contract="0-10") for n in (1, 2)]
    request = REQUEST._replace(contract=contract_named("0-10"), labels=["Q1", "Q2"])
    found = verdicts_of(Choice("Q1: 7\nQ2: 1", "length"), request, both)
    assert [verdict.value for verdict in found] == [7.0, None]


def test_the_answers_own_token_is_weighed() -> None:
    choice = Choice("Yes", "stop", (place("Yes", Yes=0.8, No=0.1, It=0.1),))
    assert read(choice, weighed=True).value == pytest.approx(8 / 9)
    # The remark's "No" is not the answer.
    remark = (place("Yes", Yes=0.9, No=0.1), place("."), place(" No", No=0.99, Yes=0.001))
    assert read(Choice("Yes. No flaws", "stop", remark), weighed=True).value == pytest.approx(0.9)


def test_probabilities_do_not_make_an_answer_of_what_is_none() -> None:
    words = tuple(place(word, No=0.9, Yes=0.05) for word in ("There", "is", "no", "way"))
    verdict = read(Choice("There is no way to tell.", "stop", words), weighed=True)
    assert (verdict.status, verdict.value) == (Status.UNREADABLE, None)
    for positions in ((), (place("Yes"),), (Position("Yes", (("Yes", math.nan),)),)):
        verdict = read(Choice("Yes", "stop", positions), weighed=True)
        assert (verdict.status, verdict.value) == (Status.MISSING, None)
        assert "log-probabilities" in verdict.explanation


def test_an_explanation_has_an_end() -> None:
    verdict = read(Choice('{"Q1": {"explanation": "%s", "answer": "Yes"}}' % ("x" * 10**6)))
    assert verdict.value == 1.0
    assert len(verdict.explanation) == 4000


def test_the_probability_is_that_of_the_answer_and_not_of_a_word_before_it() -> None:
    told = '{"Q1": {"explanation": "No hat, ", "answer": "Yes"}}'
    tokens: tuple[str, ...]
    tokens = ('{"Q1": {"explanation": "', "No", ' hat, ", "', "answer", '": "', "Yes", '"}}')
    options = {"No": {"No": 1.0}, "Yes": {"Yes": 0.7, "No": 0.3}}
    positions = tuple(place(token, **options.get(token, {})) for token in tokens)
    assert read(Choice(told, positions=positions), weighed=True).value == pytest.approx(0.7)
    said_no = told.replace("Yes", "No").replace("No hat", "Yes, hat")
    tokens = ('{"Q1": {"explanation": "', "Yes", ', hat, ", "answer": "', "No", '"}}')
    options = {"Yes": {"Yes": 1.0}, "No": {"Yes": 0.2, "No": 0.8}}
    positions = tuple(place(token, **options.get(token, {})) for token in tokens)
    assert read(Choice(said_no, positions=positions), weighed=True).value == pytest.approx(0.2)
