"""Each rule finds its violations and accepts good texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.building.creval.dimensions import DIMENSIONS
from creval.building.creval.rules import (
    find_given_violations,
    find_instruction_violations,
    find_question_violations,
    is_same_question,
)
from creval.parsing.written_instructions import WrittenInstruction
from creval.parsing.written_questions import WrittenQuestion

TO = ("Turn the cat into a jade lamp.", ["Is the collar of the cat red?"])


def broken(text: str, answer: str | None = "Yes", weight: float | None = 2.0) -> set[str]:
    return {fault.rule for fault in find_question_violations(WrittenQuestion(text, answer, weight), "VC", *TO)}


@pytest.mark.parametrize(
    "text",
    [
        "Is the left ear of the cat notched?",
        "Does the lamp have exactly four feet and a round base?",
        "Does the sign read “IS IT OPEN? OR IS IT NOT?” in red letters?",
        "Is the café's clock – the round one – at ten past ten?",
        "Are there 3 or 4 windows in the tower?",
        "Does a bubble hold the words “Who goes there 🕵️‍♂️?”",
        "Does the frame have an Art Deco aesthetic?",
    ],
)
def test_a_good_question_passes(text: str) -> None:
    assert not broken(text)


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        ("question", WrittenQuestion("The ear is notched.", "Yes", 1.0)),
        ("answer", WrittenQuestion("Is the ear notched?", "Yes | No", 1.0)),
        ("answer", WrittenQuestion("Is the ear notched?", None, 1.0)),
        ("weight", WrittenQuestion("Is the ear notched?", "Yes", None)),
        ("weight", WrittenQuestion("Is the ear notched?", "Yes", 2.5)),
        ("garbled", WrittenQuestion("Is the \ufffd ear notched?", "Yes", 1.0)),
        ("garbled", WrittenQuestion("Is the catâ€™s ear notched?", "Yes", 1.0)),
        ("garbled", WrittenQuestion("Is the the the ear notched?", "Yes", 1.0)),
        ("garbled", WrittenQuestion("Is {{thing}} notched?", "Yes", 1.0)),
        ("length", WrittenQuestion(f"Is the ear {' '.join(f'w{n}' for n in range(50))} there?", "No", 1.0)),
        ("one fact", WrittenQuestion("Is the ear notched and is the tail long?", "Yes", 1.0)),
        ("one fact", WrittenQuestion("Is the ear notched? Is the tail long?", "Yes", 1.0)),
        ("taste", WrittenQuestion("Is the ear aesthetically drawn?", "Yes", 1.0)),
        ("language", WrittenQuestion("猫的左耳有缺口吗？", "Yes", 1.0)),
        ("duplicate", WrittenQuestion("Is the cat collar red?", "Yes", 1.0)),
    ],
)
def test_each_rule_finds_its_fault(rule: str, question: WrittenQuestion) -> None:
    assert rule in {fault.rule for fault in find_question_violations(question, "VC", *TO)}


def test_weights_are_for_consistency_only() -> None:
    asked = WrittenQuestion("Is the ear notched?", "Yes", None)
    assert not find_question_violations(asked, "IF", *TO)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_our_examples_keep_the_rules(name: str) -> None:
    for text in DIMENSIONS[name].examples:
        assert not find_instruction_violations(WrittenInstruction(text)), text


GOOD = "Turn the cat into a green jade lamp with four brass feet beneath a paper moon."


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("length", WrittenInstruction(" ".join(["Turn the cat into jade"] * 14))),
        ("empty", WrittenInstruction("Do it")),
        ("thin", WrittenInstruction("Turn the cat into jade.")),
        ("question", WrittenInstruction("Could you turn the cat into a jade lamp with four brass feet?")),
        ("garbled", WrittenInstruction(GOOD + " the the the")),
        ("ambiguity", WrittenInstruction(GOOD[:-1] + " or something of that kind.")),
        ("retouching", WrittenInstruction("Brighten the sky a little and take away the people behind it.")),
        ("language", WrittenInstruction("把猫变成一盏绿色的玉灯，四只黄铜脚，上面有一个纸月亮，背景是深蓝色的夜空")),
        ("attributes", WrittenInstruction(GOOD, attributes=("a", "b"))),
    ],
)
def test_each_rule_for_instructions(rule: str, told: WrittenInstruction) -> None:
    assert rule in {fault.rule for fault in find_instruction_violations(told)}
    assert not find_instruction_violations(WrittenInstruction(GOOD, attributes=("a", "b", "c", "d")))


OWN = 'Turn the cat into a lamp with a sign that reads "OPEN".'
SHARPER = 'Turn the tabby cat into a jade lamp with four brass feet and a sign that reads "OPEN".'


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("attributes", WrittenInstruction(OWN)),
        ("attributes", WrittenInstruction(OWN.replace("lamp", "lamp, a lamp"))),
        ("attributes", WrittenInstruction(SHARPER, attributes=("jade",))),
        ("attributes", WrittenInstruction(SHARPER, attributes=("jade", "brass", "feet", "tabby"))),
        ("quoted", WrittenInstruction(SHARPER.replace("OPEN", "Open"))),
        ("language", WrittenInstruction('把这只虎斑猫变成一盏玉灯，四只黄铜脚，招牌上写着"OPEN"')),
    ],
)
def test_each_rule_for_what_was_rewritten(rule: str, told: WrittenInstruction) -> None:
    assert {fault.rule for fault in find_instruction_violations(told, OWN)} == {rule}
    for attributes in ((), ("jade", "brass"), ("tabby", "jade", "four brass feet")):
        assert not find_instruction_violations(WrittenInstruction(SHARPER, attributes=attributes), OWN)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_checked(text: str, other: str) -> None:
    find_question_violations(WrittenQuestion(text, text, 1.0), "VC", other, [other])
    find_instruction_violations(WrittenInstruction(text), other)
    assert {fault.rule for fault in find_given_violations(text)} <= {"empty", "garbled"}
    assert is_same_question(text, other) == is_same_question(other, text)
    assert is_same_question(text, text)
