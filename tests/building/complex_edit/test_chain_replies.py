"""Replies are parsed in every common form, and parsers invent no text."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.benchmarks.complex_edit.atomic_operations import OPERATIONS
from creval.building.complex_edit import chain_replies
from creval.building.complex_edit.chain_replies import (
    AtomicInstruction,
    CompoundInstruction,
    read_compound,
    read_sequence,
    read_simplified,
)
from creval.testing.fake_chains import render_numbered_list, render_records
from creval.testing.fake_chat_server import write_text
from tests.building.reply_texts import HOSTILE, PLAIN, form, hostile_piece, invented_words, json_of_schema, some

QUOTED = st.sampled_from(["'OPEN'", "“Grüße”", "«nord»"])
SENTENCE = st.one_of(PLAIN, st.builds(lambda a, b: f"Write {b} there, {a}", PLAIN, QUOTED))
ATOMIC = st.builds(AtomicInstruction, st.sampled_from(OPERATIONS), PLAIN, PLAIN)
SEQUENCES = st.lists(ATOMIC, min_size=1, max_size=8)


def fields(found: Sequence[AtomicInstruction]) -> list[Mapping[str, str]]:
    return [one._asdict() for one in found]


@form
@some
@given(found=SEQUENCES)
def test_a_sequence_in_every_form(form: str, found: list[AtomicInstruction]) -> None:
    assert read_sequence(render_records(fields(found), form)) == found


@pytest.mark.parametrize("form", ["plain", "bold", "bracketed", "chinese"])
@some
@given(found=SEQUENCES)
def test_a_sequence_as_a_list(form: str, found: list[AtomicInstruction]) -> None:
    assert read_sequence(render_numbered_list(fields(found), form)) == found


@form
@some
@given(said=SENTENCE)
def test_a_shorter_instruction_in_every_form(form: str, said: str) -> None:
    if form == "chinese" and "“" in said:
        return  # quotation marks inside quotation marks
    assert read_simplified(render_records([{"needed": "Yes", "instruction": said}], form)) == said
    assert read_simplified(render_records([{"needed": "no", "instruction": ""}], form)) == ""


@form
@some
@given(said=SENTENCE, why=PLAIN)
def test_a_compound_in_every_form(form: str, said: str, why: str) -> None:
    if form == "chinese" and "“" in said:
        return
    text = render_records([{"reasoning": why, "instruction": said}], form)
    assert read_compound(text) == CompoundInstruction(said, why)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("No.", ""),
        ("No, it is short already", ""),
        ('{"needed": false}', ""),
        ("**Needed:** Yes\n**Shorter instruction:**\n\nAdd a cat.", "Add a cat."),
        ("Yes.", None),
        ("Nobody knows.", None),
        ('{"needed": "yes", "instruction": "a b c"}{"needed": "yes", "instruction": "d e"}', None),
        ('{"needed": "yes", "instruction": "a b"} {"needed": "no"}', None),
        ("", None),
    ],
)
def test_whether_it_is_needed(text: str, found: str | None) -> None:
    assert read_simplified(text) == found


def test_prose_behind_an_instruction_is_no_part_of_it() -> None:
    text = "Reasoning: they go together.\nInstruction: Add a red kite.\nI hope that this helps!"
    assert read_compound(text) == CompoundInstruction("Add a red kite.", "they go together.")


@pytest.mark.parametrize(
    "text",
    [
        "1. **Add Text** – Write it there.",
        "1. Add Text - Write it there.",
        "1) *Add Text*: Write it there.",
        "1. **Operation:** Add Text\n   **Instruction:** Write it there.",
        "- **Operation**: Text and Symbols > Add Text\n- **Instruction**: Write it there.",
        '{"edits": {"1": {"name": "add text", "instruction": "Write it there."}}}',
        'Thinking [hard]...\n[{"operation": "Add Text", "instruction": "Write it there."}] Done.',
    ],
)
def test_one_edit_in_other_forms(text: str) -> None:
    assert read_sequence(text) == [AtomicInstruction("Add Text", "Write it there.")]


@given(HOSTILE)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    said = [word for one in read_sequence(text) for word in (one.instruction, one.reason)]
    compound, shorter = read_compound(text), read_simplified(text)
    said += list(compound or ()) + ([shorter] if shorter else [])
    assert not invented_words(text, said)


@hostile_piece
def test_hostile_text_is_cheap(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    for read in (read_sequence, read_simplified, read_compound):
        read(text)
    assert time.process_time() - began < 2.0


def test_the_fake_writer_knows_the_forms_that_are_asked_for() -> None:
    chance = random.Random(1)
    forms = [getattr(chain_replies, name) for name in dir(chain_replies) if name.endswith("_FORMAT")]
    assert len(forms) == 3
    for asked in forms:
        assert write_text(asked, chance) is not None
    assert write_text("Q1: Is it red?", chance) is None


def test_replies_in_the_form_of_their_schemas() -> None:
    said = json_of_schema(chain_replies.SEQUENCE_FORMAT.schema)
    assert read_sequence(said) == [AtomicInstruction(OPERATIONS[-1], "some instruction", "some reason")]
    said = json_of_schema(chain_replies.SIMPLIFY_FORMAT.schema, needed="yes")
    assert read_simplified(said) == "some instruction"
    said = json_of_schema(chain_replies.SIMPLIFY_FORMAT.schema, instruction="")
    assert read_simplified(said) == ""
    said = json_of_schema(chain_replies.COMPOUND_FORMAT.schema)
    assert read_compound(said) == CompoundInstruction("some instruction", "some reasoning")
