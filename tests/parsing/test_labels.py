from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.parsing.labels import FieldAliases, LabelledLine, labelled_lines, normalise_text, strip_markup

FIELDS = FieldAliases(instruction="instruction editinstruction 指令", answer="answer")


def test_wording_without_case_space_and_punctuation() -> None:
    assert normalise_text("Is the  CAT’s hat red?") == normalise_text("is the cat's hat red")


@pytest.mark.parametrize("label", ["instruction", "Edit Instruction", "**edit_instruction**", "指令"])
def test_a_label_in_every_spelling(label: str) -> None:
    assert FIELDS.find(label) == "instruction"


def test_a_label_that_is_unknown_or_too_long_names_no_field() -> None:
    assert FIELDS.find("caption") is None
    assert FIELDS.find("answer" + "*" * 40) is None
    assert FieldAliases(max_label_chars=100, answer="answer").find("answer" + "*" * 40) == "answer"


def test_values_by_field() -> None:
    assert FIELDS.select({"Answer": 3, "colour": "red", "Instruction": None}) == {"answer": 3, "instruction": None}


@pytest.mark.parametrize(
    "line",
    [
        "Instruction: Add a cat.",
        "- **Edit instruction:** Add a cat.",
        "指令：Add a cat.",
        "Instruction 2 (new): Add a cat.",
    ],
)
def test_a_line_with_a_label(line: str) -> None:
    assert list(labelled_lines([line], FIELDS.find)) == [LabelledLine(line, "instruction", "Add a cat.")]


def test_every_line_is_returned_also_without_a_label() -> None:
    lines = ["Here it is:", "Caption: A cat.", "", "Answer: Yes", "Answer: " + "y" * 4000]
    found = list(labelled_lines(lines, FIELDS.find))
    assert [line.text for line in found] == lines
    assert [line.field for line in found] == [None, None, None, "answer", None]


def test_the_first_pattern_that_matches_splits_the_line() -> None:
    patterns = re.compile(r"\[(\w+)\] (.*)"), re.compile(r"(\S+) (.*)")
    found = labelled_lines(["[answer] Yes", "answer No", "[reply] No"], FIELDS.find, *patterns)
    assert [line.value for line in found] == ["Yes", "No", ""]


def test_markup_around_a_text() -> None:
    assert strip_markup("**`Add  a\ncat.`** ") == "Add a cat."
    assert strip_markup('"Add a cat",') == '"Add a cat",'
    assert strip_markup('**“Add a "big" cat.”**,', quotes=True) == 'Add a "big" cat.'
    assert strip_markup("'it' and 'that'", quotes=True) == "'it' and 'that'"


@given(st.text(), st.booleans())
def test_a_text_without_markup_is_in_one_line(text: str, quotes: bool) -> None:
    done = strip_markup(text, quotes=quotes)
    assert done == " ".join(done.split())
    assert not quotes or strip_markup(done, quotes=True) == done
