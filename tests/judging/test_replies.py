"""Verdicts in replies."""

from __future__ import annotations

import math

import pytest

from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.core.verdict import Verdict, VerdictStatus
from creval.judges.base import JudgeRequest, completion_status
from creval.judging.replies import read_verdicts
from creval.providers.openai_wire import Completion, TokenLogprobs

QUESTION = Question("IF/1", "IF", "Is it red?")
REQUEST = JudgeRequest([], "Q1: Is it red?", get_scale("yes/no"), ["Q1"])


def place(token: str, **options: float) -> TokenLogprobs:
    return TokenLogprobs(token, tuple((word, math.log(p)) for word, p in options.items()))


def read(choice: Completion, weighed: bool = False) -> Verdict:
    return read_verdicts(choice, REQUEST, [QUESTION], use_logprobs=weighed)[0]


@pytest.mark.parametrize(
    ("choice", "status", "why"),
    [
        (Completion("I cannot.", "refusal"), VerdictStatus.REFUSED, "the judge declined: I cannot."),
        (Completion("", "refusal"), VerdictStatus.REFUSED, "a filter declined"),
        (Completion(""), VerdictStatus.MISSING, "the reply was empty"),
        (Completion("It is", "length"), VerdictStatus.MISSING, "the reply was cut off"),
    ],
)
def test_reasons_for_missing_answers(choice: Completion, status: VerdictStatus, why: str) -> None:
    verdict = read(choice)
    assert (verdict.status, verdict.value) == (status, None)
    assert verdict.explanation.startswith(why)


@pytest.mark.parametrize(
    "text", ['{"Q1": {"answer": "Yes"}, "Q2": {"ans', '{"Q1": {"answer": "Yes"}}', "Q1: Yes\nQ2: N", "Yes"]
)
def test_a_reply_that_was_cut_off_has_no_verdict(text: str) -> None:
    verdict = read(Completion(text, "length"))
    assert (verdict.status, verdict.value) == (VerdictStatus.MISSING, None)
    assert completion_status(Completion("Yes")) is VerdictStatus.ANSWERED
    assert completion_status(Completion(" ")) is VerdictStatus.MISSING


def test_thoughts_are_not_answers() -> None:
    assert read(Completion("<think>No? Q1: No. Or yes.</think>\nYes.")).value == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Yes, looks red. But wait ...\n</think>\n\nNo", 0.0),
        ("<think>\nQ1: Yes, at first sight.\nBut wait", None),
        ('<think>{"Q1": "Yes"}', None),
    ],
)
def test_incomplete_thoughts(text: str, value: float | None) -> None:
    assert read(Completion(text, "length")).value is None or value is not None
    assert read(Completion(text)).value == value


def test_the_probability_is_that_of_the_answers_token() -> None:
    choice = Completion("Yes", "stop", (place("Yes", Yes=0.8, No=0.1, It=0.1),))
    assert read(choice, weighed=True).value == pytest.approx(8 / 9)
    # The "No" in the remark is not the answer.
    remark = (place("Yes", Yes=0.9, No=0.1), place("."), place(" No", No=0.99, Yes=0.001))
    assert read(Completion("Yes. No flaws", "stop", remark), weighed=True).value == pytest.approx(0.9)


def test_probabilities_do_not_replace_a_missing_answer() -> None:
    words = tuple(place(word, No=0.9, Yes=0.05) for word in ("There", "is", "no", "way"))
    verdict = read(Completion("There is no way to tell.", "stop", words), weighed=True)
    assert (verdict.status, verdict.value) == (VerdictStatus.UNREADABLE, None)
    for positions in ((), (place("Yes"),), (TokenLogprobs("Yes", (("Yes", math.nan),)),)):
        verdict = read(Completion("Yes", "stop", positions), weighed=True)
        assert (verdict.status, verdict.value) == (VerdictStatus.MISSING, None)
        assert "log-probabilities" in verdict.explanation


def test_explanations_are_truncated() -> None:
    verdict = read(Completion('{"Q1": {"explanation": "%s", "answer": "Yes"}}' % ("x" * 10**5)))
    assert verdict.value == 1.0
    assert len(verdict.explanation) == 4000


def test_the_probability_is_that_of_the_answer_not_of_an_earlier_word() -> None:
    told = '{"Q1": {"explanation": "No hat, ", "answer": "Yes"}}'
    tokens: tuple[str, ...]
    tokens = ('{"Q1": {"explanation": "', "No", ' hat, ", "', "answer", '": "', "Yes", '"}}')
    options = {"No": {"No": 1.0}, "Yes": {"Yes": 0.7, "No": 0.3}}
    positions = tuple(place(token, **options.get(token, {})) for token in tokens)
    assert read(Completion(told, logprobs=positions), weighed=True).value == pytest.approx(0.7)
    said_no = told.replace("Yes", "No").replace("No hat", "Yes, hat")
    tokens = ('{"Q1": {"explanation": "', "Yes", ', hat, ", "answer": "', "No", '"}}')
    options = {"Yes": {"Yes": 1.0}, "No": {"Yes": 0.2, "No": 0.8}}
    positions = tuple(place(token, **options.get(token, {})) for token in tokens)
    assert read(Completion(said_no, logprobs=positions), weighed=True).value == pytest.approx(0.2)
