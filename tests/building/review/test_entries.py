from __future__ import annotations

from typing import Any

import pytest

from creval.building.review.base import ACCEPTED, DROPPED, OPEN, VERDICTS
from creval.building.review.json_review import read_verdict, set_verdict, validate_instruction
from creval.core.errors import CrevalError


@pytest.mark.parametrize("first", VERDICTS)
@pytest.mark.parametrize("second", VERDICTS)
def test_the_last_verdict_holds(first: str, second: str) -> None:
    entry = {"instruction": "Add a kite."}
    set_verdict(entry, first)
    set_verdict(entry, second)
    assert read_verdict(entry) == second
    assert entry["instruction"] == "Add a kite."
    set_verdict(entry, OPEN)
    assert entry == {"instruction": "Add a kite."}, "no verdict is left in the entry"


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ({}, OPEN),
        (None, OPEN),
        ("x", OPEN),
        ({"review": "maybe"}, OPEN),
        ({"review": 1}, OPEN),
        ({"review": "accepted"}, ACCEPTED),
        ({"dropped": True, "review": "accepted"}, DROPPED),
    ],
)
def test_handwritten_verdicts_are_read(entry: Any, verdict: str) -> None:
    assert read_verdict(entry) == verdict


def test_an_unknown_verdict_changes_nothing() -> None:
    entry: dict[str, Any] = {"dropped": True}
    with pytest.raises(CrevalError, match="no verdict 'perhaps'"):
        set_verdict(entry, "perhaps")
    assert entry == {"dropped": True}


def test_a_changed_instruction_must_be_one_valid_line() -> None:
    assert validate_instruction(" Add a\n red  kite. ") == "Add a red kite."
    for wrong in ("", "  \n", "x" * 50, '{"instruction": "Add"}', "I cannot do this"):
        with pytest.raises(CrevalError, match="is invalid"):
            validate_instruction(wrong)
