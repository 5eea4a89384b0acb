from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.contract import YesNo, contract_named
from creval.core.errors import CrevalError
from creval.core.verdict import Status

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
