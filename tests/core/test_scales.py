from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.scales import EXAMPLE_EXPLANATION, AnswerScale, NamedChoice, WholeNumber, YesNo, get_scale, scales
from creval.core.verdict import VerdictStatus
from creval.parsing.judge_replies import parse_reply

CONTRACT = YesNo()


@pytest.mark.parametrize(
    "said",
    [
        "Yes",
        "yes",
        " YES ",
        "Yes.",
        "**Yes**",
        "** Yes",
        "Yes\n```",
        "Yes, the hat is red.",
        "Yes - clearly",
        "Yes (mostly visible)",
        "“Yes”",
        "Yes。",
        "Yes\nThe hat is red.",
        "Yes, there are no flaws.",
        "Yes, no artifacts are visible.",
        "\ufeffYes",
        True,
    ],
)
def test_yes(said: object) -> None:
    assert CONTRACT.parse_answer(said) == (VerdictStatus.ANSWERED, 1.0)


@pytest.mark.parametrize("said", ["No", "no.", "No: it is blue", "No\n```", "No, no hat is there.", "`No`", False])
def test_no(said: object) -> None:
    assert CONTRACT.parse_answer(said) == (VerdictStatus.ANSWERED, 0.0)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (None, VerdictStatus.MISSING),
        ("", VerdictStatus.MISSING),
        (" ** ", VerdictStatus.MISSING),
        ("Not applicable", VerdictStatus.INAPPLICABLE),
        ("N/A", VerdictStatus.INAPPLICABLE),
        ("Not applicable due to blurring", VerdictStatus.INAPPLICABLE),
        ("Yes, regarding the posture, not applicable to the mat.", VerdictStatus.AMBIGUOUS),
        ("Yes, no", VerdictStatus.AMBIGUOUS),
        ("Yes. No.", VerdictStatus.AMBIGUOUS),
        ("No-one wears it, so yes", VerdictStatus.UNREADABLE),
        ("No.1 quality, yes", VerdictStatus.UNREADABLE),
        ("No, but yes for the hat", VerdictStatus.AMBIGUOUS),
        ("Yes and no", VerdictStatus.UNREADABLE),
        ("Yes. Actually, no.", VerdictStatus.AMBIGUOUS),
        ("Yes, it is red.\nNo.", VerdictStatus.AMBIGUOUS),
        ("Yes/No", VerdictStatus.UNREADABLE),
        ("Yes or No", VerdictStatus.UNREADABLE),
        ("No hat is visible", VerdictStatus.UNREADABLE),
        ("Nothing", VerdictStatus.UNREADABLE),
        ("Yesterday", VerdictStatus.UNREADABLE),
        ("The answer is yes", VerdictStatus.UNREADABLE),
        ("1", VerdictStatus.UNREADABLE),
        (1, VerdictStatus.UNREADABLE),
    ],
)
def test_ambiguous_or_unreadable_answers_have_no_value(said: object, status: VerdictStatus) -> None:
    assert CONTRACT.parse_answer(said) == (status, None)


@given(st.text())
def test_any_text_is_read_without_guessing(said: str) -> None:
    status, value = CONTRACT.parse_answer(said)
    assert (value is not None) == (status is VerdictStatus.ANSWERED)
    if value is not None:
        assert said.strip("*_`\"'“”‘’#> \t\r\n\ufeff").casefold().startswith(("no", "yes")[int(value)])


def test_references_are_repaired_or_not_there() -> None:
    assert CONTRACT.normalise_reference("** Yes") == "Yes"
    assert CONTRACT.normalise_reference("No (unless explicitly stated; default assumption is LEGO)") == "No"
    assert CONTRACT.normalise_reference("") is None
    assert CONTRACT.normalise_reference("maybe") is None


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
    assert get_scale("yes/no").name == "yes/no"
    with pytest.raises(CrevalError, match="did you mean 'yes/no'"):
        get_scale("yes-no")


TEN, FIVE, ONE = (get_scale(name) for name in ("0-10", "0-5", "1/0"))


@pytest.mark.parametrize(
    ("contract", "said", "value"),
    [
        (TEN, 7, 7),
        (TEN, 7.0, 7),
        (TEN, "7", 7),
        (TEN, "**10**", 10),
        (TEN, "7/10", 7),
        (TEN, "7 out of 10", 7),
        (TEN, "Score: 0", 0),
        (TEN, "7.0", 7),
        (TEN, "7.", 7),
        (TEN, "7, the hat is missing", 7),
        (TEN, "7\nThe hat is missing.", 7),
        (FIVE, "5/5", 5),
        (FIVE, 0, 0),
        (ONE, "1", 1),
        (ONE, 0, 0),
        (ONE, True, 1),
        (ONE, "The answer is 1.", 1),
        (ONE, "The final answer is: **0**", 0),
        (ONE, "1. The hat is red.", 1),
        (ONE, "1\n\nReasons:\n1. A hat.\n2. A cat.", 1),
        (TEN, "7. The hat is missing.\n\nScore: 7", 7),
    ],
)
def test_whole_numbers(contract: AnswerScale, said: object, value: float) -> None:
    assert contract.parse_answer(said) == (VerdictStatus.ANSWERED, value)


@pytest.mark.parametrize(
    ("contract", "said", "status"),
    [
        (TEN, None, VerdictStatus.MISSING),
        (TEN, " ", VerdictStatus.MISSING),
        (TEN, 11, VerdictStatus.UNREADABLE),
        (TEN, -1, VerdictStatus.UNREADABLE),
        (TEN, "7.5", VerdictStatus.UNREADABLE),
        (TEN, 7.5, VerdictStatus.UNREADABLE),
        (TEN, float("nan"), VerdictStatus.UNREADABLE),
        (TEN, float("inf"), VerdictStatus.UNREADABLE),
        (TEN, True, VerdictStatus.UNREADABLE),
        (TEN, "7-8", VerdictStatus.UNREADABLE),
        (TEN, "7 or 8", VerdictStatus.UNREADABLE),
        (TEN, "7, 8", VerdictStatus.AMBIGUOUS),
        (TEN, "7, or 8", VerdictStatus.AMBIGUOUS),
        (TEN, "I would say 7", VerdictStatus.UNREADABLE),
        (TEN, "n/a", VerdictStatus.INAPPLICABLE),
        (FIVE, "4/10", VerdictStatus.UNREADABLE),
        (FIVE, "4 (out of 10)", VerdictStatus.UNREADABLE),
        (TEN, 10**400, VerdictStatus.UNREADABLE),
        (FIVE, "6", VerdictStatus.UNREADABLE),
        (ONE, "2", VerdictStatus.UNREADABLE),
        (ONE, "Yes", VerdictStatus.UNREADABLE),
        (ONE, "Answer: -1", VerdictStatus.UNREADABLE),
        (ONE, "The answer is 1 or 0.", VerdictStatus.UNREADABLE),
        (ONE, "1. It asks for a red hat.\n2. The hat is blue.\n\nSo: 0", VerdictStatus.UNREADABLE),
        (ONE, "1: the source\n**2)** the edit", VerdictStatus.UNREADABLE),
        (ONE, "1. The answer is 0", VerdictStatus.AMBIGUOUS),
        (ONE, "1. Wait, 0.", VerdictStatus.AMBIGUOUS),
        (TEN, "7, as the hat is red.\n\n**Score: 6**", VerdictStatus.AMBIGUOUS),
    ],
)
def test_numbers_off_the_scale_have_no_value(contract: AnswerScale, said: object, status: VerdictStatus) -> None:
    assert contract.parse_answer(said) == (status, None)


LIKERT = get_scale("1-5")
PREFERENCE = scales.register("preference", NamedChoice("preference", ("A", "B", "a tie")))


@pytest.mark.parametrize("contract", [*map(get_scale, [*scales.names(), "1-5", "1-10"])], ids=lambda scale: scale.name)
def test_a_reply_that_follows_the_request_and_the_schema_is_read(contract: AnswerScale) -> None:
    labels = ["Q1", "Q2", "Q3"]
    schema = contract.json_schema(labels)
    assert schema["required"] == labels
    assert schema["additionalProperties"] is False
    choices = schema["properties"]["Q3"]["properties"]["answer"]["enum"]
    assert [contract.parse_answer(choice)[1] for choice in choices] == [
        float(getattr(contract, "low", 0) + n) for n in range(len(choices))
    ]
    request = contract.reply_format(labels)
    assert contract.description in request
    assert contract.description in contract.bare_reply_format()
    example = request.splitlines()[1]
    questions = [Question(f"IF/{n}", "IF", "Is it?", contract.name) for n in (1, 2)]
    read = parse_reply(example.replace(EXAMPLE_EXPLANATION, "so"), questions, labels[:2])
    assert [verdict.status for verdict in read] == [VerdictStatus.ANSWERED, VerdictStatus.ANSWERED]
    echoed = parse_reply(example, questions, labels[:2])
    assert [verdict.status for verdict in echoed] == [VerdictStatus.MISSING, VerdictStatus.MISSING]


def test_several_answers_become_one() -> None:
    assert CONTRACT.reduce([1.0, 1.0, 0.0]) == 1.0
    assert CONTRACT.reduce([1.0, 0.0]) is None  # a tie has no value
    assert CONTRACT.reduce([0.9, 0.6, 0.0]) == pytest.approx(0.5)  # probabilities: their mean
    assert TEN.reduce([7.0, 8.0, 8.0]) == pytest.approx(23 / 3)


def test_token_probabilities_give_the_expected_answer() -> None:
    options = [("Yes", math.log(0.6)), (" yes", math.log(0.1)), ("No", math.log(0.2)), ("It", -2.0)]
    assert CONTRACT.expected_value(options) == pytest.approx(0.7 / 0.9)
    assert FIVE.expected_value([("4", math.log(0.5)), ("2", math.log(0.5))]) == pytest.approx(3.0)
    assert CONTRACT.expected_value([("It", -0.1)]) is None


@given(st.text())
def test_reading_a_number_never_raises(text: str) -> None:
    status, value = TEN.parse_answer(text)
    assert (value is not None) == (status is VerdictStatus.ANSWERED)


def test_numbers_in_replies() -> None:
    questions = [Question(f"IF/{n}", "IF", "How well?", "0-10") for n in (1, 2)]
    for text in (
        '{"Q1": 7, "Q2": 8}',
        '{"Q1": {"score": 7}, "Q2": {"score": 8, "reason": "so"}}',
        "Q1: 7\nQ2: 8/10",
        "[7, 8]",
    ):
        read = parse_reply(text, questions, ["Q1", "Q2"])
        assert [verdict.value for verdict in read] == [7, 8], text
    assert parse_reply("8", questions[:1])[0].value == 8
    assert WholeNumber(0, 10).credit(8, "10") == pytest.approx(0.8)


def test_long_remarks_behind_a_number_are_cheap() -> None:
    start = time.process_time()
    for piece in ("so, ", "\n", "1. ", "9 ", "9" + " " * 50, ". ", "\n2", "the answer is "):
        for said in ("1. " + piece * 50_000 + "x", "1. x" + piece * 50_000):
            assert ONE.parse_answer(said)[0] in VerdictStatus
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("said", "value"), [("1", 1.0), (5, 5.0), ("4/5, the hat is there", 4.0), ("Score: 3", 3.0)])
def test_a_scale_that_begins_at_one(said: object, value: float) -> None:
    assert LIKERT.parse_answer(said) == (VerdictStatus.ANSWERED, value)


@pytest.mark.parametrize("said", ["0", 0, 6, "3/10", True, "2.5", -1])
def test_answers_outside_a_scale_from_one_are_unreadable(said: object) -> None:
    assert LIKERT.parse_answer(said) == (VerdictStatus.UNREADABLE, None)


def test_the_lowest_answer_is_worth_nothing_and_the_highest_all() -> None:
    for name, low, high in (("1-5", 1, 5), ("0-10", 0, 10), ("yes/no", 0, 1), ("1/0", 0, 1)):
        assert (get_scale(name).normalise(low), get_scale(name).normalise(high)) == (0.0, 1.0)
    assert LIKERT.normalise(2) == 0.25
    assert LIKERT.credit(2, "5") == 0.25
    assert LIKERT.credit(1, "1") == 1.0
    assert LIKERT.description == "a whole number from 1 to 5"
    assert PREFERENCE.normalise(1) is None


@pytest.mark.parametrize("name", ["5-1", "3-3", "01-5", "1-5000", "-1-5", "1 - 5"])
def test_invalid_ranges_are_no_scales(name: str) -> None:
    with pytest.raises(CrevalError, match="scale"):
        get_scale(name)


@pytest.mark.parametrize(
    ("said", "value"),
    [("A", 0), ("**b**", 1), ("A tie", 2), ("a tie, both keep the hat", 2), ("B. The hat is red.", 1), ("B, not A", 1)],
)
def test_names_are_read(said: str, value: float) -> None:
    assert PREFERENCE.parse_answer(said) == (VerdictStatus.ANSWERED, value)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("C", VerdictStatus.UNREADABLE),
        ("Ab", VerdictStatus.UNREADABLE),
        (1, VerdictStatus.UNREADABLE),
        ("A, or B", VerdictStatus.AMBIGUOUS),
        ("A. Actually, B.", VerdictStatus.AMBIGUOUS),
        ("", VerdictStatus.MISSING),
        (None, VerdictStatus.MISSING),
        ("not applicable", VerdictStatus.INAPPLICABLE),
    ],
)
def test_answers_that_are_none_of_the_names(said: object, status: VerdictStatus) -> None:
    assert PREFERENCE.parse_answer(said) == (status, None)


def test_names_are_reduced_by_majority() -> None:
    assert PREFERENCE.reduce([1.0, 0.0, 1.0, 2.0]) == 1.0
    assert PREFERENCE.reduce([1.0, 0.0, 2.0]) is None
    assert PREFERENCE.mean([2.0, 2.0, 0.0]) == 2.0
    assert PREFERENCE.credit(1.0, "B") == 1.0
    assert PREFERENCE.credit(0.0, "B") == 0.0
    assert PREFERENCE.normalise_reference("b") == "B"
    assert PREFERENCE.expected_value([("B", math.log(0.6)), ("A", math.log(0.4)), ("It", -0.1)]) == 1.0


@pytest.mark.parametrize("names", [(), ("A",), ("A", "a"), ("A", " ")])
def test_a_scale_of_names_has_two_or_more(names: tuple[str, ...]) -> None:
    with pytest.raises(CrevalError, match="two different names"):
        NamedChoice("bad", names)


@given(st.text())
def test_reading_a_name_never_raises(text: str) -> None:
    status, value = PREFERENCE.parse_answer(text)
    assert (value is not None) == (status is VerdictStatus.ANSWERED)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("0-10", 0, 10), ("0-25", 0, 25), ("0-5", 0, 5), ("1/0", 0, 1), ("2-4", 2, 4)]
)
def test_a_scale_has_its_ends_everywhere(name: str, low: int, high: int) -> None:
    scale = get_scale(name)
    whole = list(range(low, high + 1))
    assert list(scale.choices) == whole
    assert scale.json_schema(["Q1"])["properties"]["Q1"]["properties"]["answer"]["enum"] == whole
    assert [scale.parse_answer(end)[1] for end in (low, high)] == [low, high]
    assert [scale.parse_answer(str(end))[1] for end in (low, high)] == [low, high]
    assert [scale.parse_answer(end)[1] for end in (low - 1, high + 1)] == [None, None]
    assert [scale.credit(low, str(high)), scale.credit(high, str(high))] == [0.0, 1.0]
    assert str(high) in scale.description


@pytest.mark.parametrize("said", ["7 (out of " + "9" * 5_000 + ")", "7." + "0" * 5_000, "9" * 5_000])
def test_numbers_of_thousands_of_digits_are_read(said: str) -> None:
    assert TEN.parse_answer(said) == (VerdictStatus.UNREADABLE, None)
