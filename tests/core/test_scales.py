from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.scales import CONTRACTS, Contract, Whole, YesNo, contract_named
from creval.core.verdict import Status
from creval.parsing.answers import read_reply

CONTRACT = YesNo()


@pytest.mark.parametrize(
    "said",
    ["Yes", "yes", " YES ", "Yes.", "**Yes**", "** Yes", "Yes\n```", "Yes, the hat is red.",
     "Yes - clearly", "Yes (mostly visible)", "“Yes”", "Yes。", "Yes\nThe hat is red.",
     "Yes, there are no flaws.", "Yes, no artifacts are visible.", "\ufeffYes", True],
)  # fmt: skip
def test_yes(said: object) -> None:
    assert CONTRACT.read(said) == (Status.ANSWERED, 1.0)


@pytest.mark.parametrize(
    "said", ["No", "no.", "No: it is blue", "No\n```", "No, no hat is there.", "`No`", False]
)
def test_no(said: object) -> None:
    assert CONTRACT.read(said) == (Status.ANSWERED, 0.0)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (None, Status.MISSING),
        ("", Status.MISSING),
        (" ** ", Status.MISSING),
        ("Not applicable", Status.INAPPLICABLE),
        ("N/A", Status.INAPPLICABLE),
        ("Not applicable due to blurring", Status.INAPPLICABLE),
        ("Yes, regarding the posture, not applicable to the mat.", Status.AMBIGUOUS),
        ("Yes, no", Status.AMBIGUOUS),
        ("Yes. No.", Status.AMBIGUOUS),
        ("No-one wears it, so yes", Status.UNREADABLE),
        ("No.1 quality, yes", Status.UNREADABLE),
        ("No, but yes for the hat", Status.AMBIGUOUS),
        ("Yes and no", Status.UNREADABLE),
        ("Yes. Actually, no.", Status.AMBIGUOUS),
        ("Yes, it is red.\nNo.", Status.AMBIGUOUS),
        ("Yes/No", Status.UNREADABLE),
        ("Yes or No", Status.UNREADABLE),
        ("No hat is visible", Status.UNREADABLE),
        ("Nothing", Status.UNREADABLE),
        ("Yesterday", Status.UNREADABLE),
        ("The answer is yes", Status.UNREADABLE),
        ("1", Status.UNREADABLE),
        (1, Status.UNREADABLE),
    ],
)
def test_what_is_not_one_answer_has_no_value(said: object, status: Status) -> None:
    assert CONTRACT.read(said) == (status, None)


@given(st.text())
def test_any_text_is_read_without_guessing(said: str) -> None:
    status, value = CONTRACT.read(said)
    assert (value is not None) == (status is Status.ANSWERED)
    if value is not None:
        assert (
            said.strip("*_`\"'“”‘’#> \t\r\n\ufeff").casefold().startswith(("no", "yes")[int(value)])
        )


def test_references_are_repaired_or_not_there() -> None:
    assert CONTRACT.repair("** Yes") == "Yes"
    assert CONTRACT.repair("No (unless explicitly stated; default assumption is LEGO)") == "No"
    assert CONTRACT.repair("") is None
    assert CONTRACT.repair("maybe") is None


def test_credit_is_for_agreement() -> None:
    assert CONTRACT.credit(1.0, "Yes") == CONTRACT.credit(0.0, "No") == 1.0
    assert CONTRACT.credit(1.0, "No") == CONTRACT.credit(0.0, "Yes") == 0.0
    assert CONTRACT.credit(0.75, "No") == 0.25


def test_several_answers_reduce_to_the_majority_and_a_tie_to_none() -> None:
    assert CONTRACT.reduce([1.0, 1.0, 0.0]) == 1.0
    assert CONTRACT.reduce([0.0]) == 0.0
    assert CONTRACT.reduce([1.0, 0.0]) is None
    assert CONTRACT.reduce([]) is None


def test_an_unknown_scale_is_named() -> None:
    assert contract_named("yes/no").name == "yes/no"
    with pytest.raises(CrevalError, match="did you mean 'yes/no'"):
        contract_named("yes-no")


TEN, FIVE, ONE = (contract_named(name) for name in ("0-10", "0-5", "1/0"))


@pytest.mark.parametrize(
    ("contract", "said", "value"),
    [
        (TEN, 7, 7), (TEN, 7.0, 7), (TEN, "7", 7), (TEN, "**10**", 10), (TEN, "7/10", 7),
        (TEN, "7 out of 10", 7), (TEN, "Score: 0", 0), (TEN, "7.0", 7), (TEN, "7.", 7),
        (TEN, "7, the hat is missing", 7), (TEN, "7\nThe hat is missing.", 7),
        (FIVE, "5/5", 5), (FIVE, 0, 0), (ONE, "1", 1), (ONE, 0, 0), (ONE, True, 1),
        (ONE, "The answer is 1.", 1), (ONE, "The final answer is: **0**", 0),
        (ONE, "1. The hat is red.", 1), (ONE, "1\n\nReasons:\n1. A hat.\n2. A cat.", 1),
        (TEN, "7. The hat is missing.\n\nScore: 7", 7),
    ],
)  # fmt: skip
def test_whole_numbers(contract: Contract, said: object, value: float) -> None:
    assert contract.read(said) == (Status.ANSWERED, value)


@pytest.mark.parametrize(
    ("contract", "said", "status"),
    [
        (TEN, None, Status.MISSING),
        (TEN, " ", Status.MISSING),
        (TEN, 11, Status.UNREADABLE),
        (TEN, -1, Status.UNREADABLE),
        (TEN, "7.5", Status.UNREADABLE),
        (TEN, 7.5, Status.UNREADABLE),
        (TEN, float("nan"), Status.UNREADABLE),
        (TEN, float("inf"), Status.UNREADABLE),
        (TEN, True, Status.UNREADABLE),
        (TEN, "7-8", Status.UNREADABLE),
        (TEN, "7 or 8", Status.UNREADABLE),
        (TEN, "7, 8", Status.AMBIGUOUS),
        (TEN, "7, or 8", Status.AMBIGUOUS),
        (TEN, "I would say 7", Status.UNREADABLE),
        (TEN, "n/a", Status.INAPPLICABLE),
        (FIVE, "4/10", Status.UNREADABLE),
        (FIVE, "4 (out of 10)", Status.UNREADABLE),
        (TEN, 10**400, Status.UNREADABLE),
        (FIVE, "6", Status.UNREADABLE),
        (ONE, "2", Status.UNREADABLE),
        (ONE, "Yes", Status.UNREADABLE),
        (ONE, "Answer: -1", Status.UNREADABLE),
        (ONE, "The answer is 1 or 0.", Status.UNREADABLE),
        (ONE, "1. It asks for a red hat.\n2. The hat is blue.\n\nSo: 0", Status.UNREADABLE),
        (ONE, "1: the source\n**2)** the edit", Status.UNREADABLE),
        (ONE, "1. The answer is 0", Status.AMBIGUOUS),
        (ONE, "1. Wait, 0.", Status.AMBIGUOUS),
        (TEN, "7, as the hat is red.\n\n**Score: 6**", Status.AMBIGUOUS),
    ],
)
def test_numbers_off_the_scale_have_no_value(
    contract: Contract, said: object, status: Status
) -> None:
    assert contract.read(said) == (status, None)


@pytest.mark.parametrize("contract", CONTRACTS.values())
def test_a_reply_that_follows_the_request_and_the_schema_is_read(contract: Contract) -> None:
    labels = ["Q1", "Q2", "Q3"]
    schema = contract.schema(labels)
    assert schema["required"] == labels
    assert schema["additionalProperties"] is False
    choices = schema["properties"]["Q3"]["properties"]["answer"]["enum"]
    assert [contract.read(choice)[1] for choice in choices] == [
        float(n) for n in range(len(choices))
    ]
    request = contract.request(labels)
    assert contract.scale in request
    assert contract.scale in contract.bare_request()
    example = request.splitlines()[1]
    questions = [Question(f"IF/{n}", "IF", "Is it?", contract.name) for n in (1, 2)]
    read = read_reply(example, questions, labels[:2])
    assert [verdict.status for verdict in read] == [Status.ANSWERED, Status.ANSWERED]


def test_several_answers_become_one() -> None:
    assert CONTRACT.reduce([1.0, 1.0, 0.0]) == 1.0
    assert CONTRACT.reduce([1.0, 0.0]) is None  # a tie is no answer
    assert CONTRACT.reduce([0.9, 0.6, 0.0]) == pytest.approx(0.5)  # probabilities: their mean
    assert TEN.reduce([7.0, 8.0, 8.0]) == pytest.approx(23 / 3)


def test_token_probabilities_give_the_expected_answer() -> None:
    options = [("Yes", math.log(0.6)), (" yes", math.log(0.1)), ("No", math.log(0.2)), ("It", -2.0)]
    assert CONTRACT.weigh(options) == pytest.approx(0.7 / 0.9)
    assert FIVE.weigh([("4", math.log(0.5)), ("2", math.log(0.5))]) == pytest.approx(3.0)
    assert CONTRACT.weigh([("It", -0.1)]) is None


@given(st.text())
def test_reading_a_number_never_raises(text: str) -> None:
    status, value = TEN.read(text)
    assert (value is not None) == (status is Status.ANSWERED)


def test_numbers_in_replies() -> None:
    questions = [Question(f"IF/{n}", "IF", "How well?", "0-10") for n in (1, 2)]
    for text in (
        '{"Q1": 7, "Q2": 8}',
        '{"Q1": {"score": 7}, "Q2": {"score": 8, "reason": "so"}}',
        "Q1: 7\nQ2: 8/10",
        "[7, 8]",
    ):
        read = read_reply(text, questions, ["Q1", "Q2"])
        assert [verdict.value for verdict in read] == [7, 8], text
    assert read_reply("8", questions[:1])[0].value == 8
    assert Whole("0-10", 10).credit(8, "10") == pytest.approx(0.8)


def test_long_remarks_behind_a_number_are_cheap() -> None:
    start = time.process_time()
    for piece in ("so, ", "\n", "1. ", "9 ", "9" + " " * 50, ". ", "\n2", "the answer is "):
        for said in ("1. " + piece * 50_000 + "x", "1. x" + piece * 50_000):
            assert ONE.read(said)[0] in Status
    assert time.process_time() - start < 5
