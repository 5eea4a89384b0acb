"""Rules accept sound instructions and reject broken ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.building.text_rules import find_violation, kept_quotes_rule, length_rule, step_list_reason

SOUND = [
    "Add a red kite above the pier.",
    'Write "你好 / HELLO" on the board in white capitals.',
    "Rotate the cup by 45° and let its handle point to the left.",
    "Make the boy's jacket look as if it were of café-brown leather, very very soft.",
    "Write 'OPEN!!!' on the door.",
    "Crop the image to a 4:3 frame around the two dogs.",
    "Write “I can't wait!” on the shirt.",
    'Write "WHAT?!" and "🕵️‍♂️" on the wall, 10 000 000 times.',
]
BROKEN = {
    "Add a red red red red kite": "garbled text",
    "Add aaaaaaaaaa kite": "garbled text",
    "Add a kite\u202e to the sky": "garbled text",
    "Add a kite \ufffd\ufffd": "garbled text",
    "把天空换成红色": "garbled text",
    "Add the сквозь поля красный kite": "garbled text",
    "Addakitetotheskyandmakeitredandverylongindeed now": "garbled text",
    "$% ^^ &* (( a )) ## @@ !!": "garbled text",
    '"OPEN"': "garbled text",
    '{"instruction": "Add a kite"}': "left-over format",
    "Add a <b>kite</b> now": "left-over format",
    "I'm sorry, I can't help with that": "refusal",
    "This is a person, and as an AI I will not": "refusal",
    "Make the **door** red now": "left-over format",
    "Kite": "length",
    "kite of paper " * 20: "length",
}


@pytest.mark.parametrize("text", SOUND)
def test_sound_instructions_pass(text: str) -> None:
    assert find_violation(text, length=length_rule(3, 40), list=step_list_reason) == ""


@pytest.mark.parametrize("text", BROKEN)
def test_broken_ones_are_named(text: str) -> None:
    assert find_violation(text, length=length_rule(3, 40)).startswith(f"{BROKEN[text]}: ")


def test_a_list_is_no_compound_instruction() -> None:
    assert step_list_reason("1. Add a cat. 2. Remove the dog.")
    assert step_list_reason("Step 1: add a cat")
    assert not step_list_reason("Add 2 cats and 1 dog.")


def test_quoted_words_are_kept() -> None:
    assert kept_quotes_rule(["TEA"])('Write "TEA"') == ""
    assert kept_quotes_rule(["TEA"])("Write tea") == "the words “TEA” are lost"


@given(st.text())
def test_a_violation_is_the_first_rule_that_any_text_breaks(text: str) -> None:
    found = find_violation(text, length=length_rule(1, 5), list=step_list_reason)
    name, _, reason = found.partition(": ")
    without = find_violation(text)
    extra = {"length": length_rule(1, 5)(text), "list": step_list_reason(text)}
    assert found == (without or next((f"{rule}: {why}" for rule, why in extra.items() if why), ""))
    assert (name in ("left-over format", "garbled text", "refusal")) == bool(without)
    assert bool(reason) == bool(found)
    assert found or 1 <= len(text.split()) <= 5, "a valid text has 1 to 5 words"
