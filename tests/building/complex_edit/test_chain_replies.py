"""What models write back is read in every form, and nothing is read that is not there."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.building.complex_edit import chain_replies
from creval.building.complex_edit.atomic_operations import OPERATIONS
from creval.building.complex_edit.chain_replies import (
    AtomicInstruction,
    ChainStep,
    CompoundInstruction,
    SimplifyReply,
    StepCheck,
    read_compound,
    read_sequence,
    read_simplified,
    read_step,
    read_step_checks,
)
from creval.testing.fake_chains import RECORD_FORMATS, render_numbered_list, render_records, write_chain_reply

WORD = st.sampled_from(["make", "the", "left", "lamp", "much", "taller", "and", "3", "than", "café's"])
QUOTED = st.sampled_from(["'OPEN'", "“Grüße”", "«nord»"])
PLAIN = st.lists(WORD, min_size=3, max_size=12).map(lambda words: f"{' '.join(words)}.")
SENTENCE = st.one_of(PLAIN, st.builds(lambda a, b: f"Write {b} there, {a}", PLAIN, QUOTED))
ATOMIC = st.builds(AtomicInstruction, st.sampled_from(OPERATIONS), PLAIN, PLAIN)
SEQUENCES = st.lists(ATOMIC, min_size=1, max_size=8)
some = settings(max_examples=25)
form = pytest.mark.parametrize("form", RECORD_FORMATS)
HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="{}[]\"'“”:：,，*_\n`1.（(yesno instruction old", max_size=300),
    st.lists(
        st.sampled_from(
            [
                "instruction",
                "needed",
                "operation",
                "Add Text",
                '"',
                ":",
                "：",
                "{",
                "}",
                "[",
                "]",
                "\n",
                "**",
                "1. ",
                "yes",
                "no",
                "scene",
                "conflict",
                "reference",
                "(because ",
                ")",
            ]
        ),
        max_size=40,
    ).map("".join),
)


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
    assert read_simplified(render_records([{"needed": "Yes", "instruction": said}], form)) == SimplifyReply(True, said)
    assert read_simplified(render_records([{"needed": "no", "instruction": ""}], form)) == SimplifyReply(False)


@form
@some
@given(said=SENTENCE, why=PLAIN)
def test_a_compound_in_every_form(form: str, said: str, why: str) -> None:
    if form == "chinese" and "“" in said:
        return
    text = render_records([{"reasoning": why, "instruction": said}], form)
    assert read_compound(text) == CompoundInstruction(said, why)


@form
@some
@given(said=PLAIN, old=st.sampled_from(["left cat", "", "vase"]), new=st.sampled_from(["", "kite"]))
def test_a_step_in_every_form(form: str, said: str, old: str, new: str) -> None:
    text = render_records([{"instruction": said, "old": old or "nothing", "new": new or "None"}], form)
    assert read_step(text) == ChainStep(said, old, new)


CHECKS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=4)


@form
@some
@given(said=CHECKS)
def test_checks_in_every_form(form: str, said: list[tuple[bool, bool, bool]]) -> None:
    found = [StepCheck(at, *three, reason="so it is.") for at, three in enumerate(said, 1)]
    written = [
        {
            name: {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
            for name, value in zip(("number", "scene", "reference", "conflict", "reason"), one, strict=True)
        }
        for one in found
    ]
    assert read_step_checks(render_records(written, form), len(found)) == found
    assert read_step_checks(render_records(written, form), len(found) + 1) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("No.", SimplifyReply(False)),
        ("No, it is short already", SimplifyReply(False)),
        ('{"needed": false}', SimplifyReply(False)),
        ("**Needed:** Yes\n**Shorter instruction:**\n\nAdd a cat.", SimplifyReply(True, "Add a cat.")),
        ("Yes.", None),
        ("Nobody knows.", None),
        ('{"needed": "yes", "instruction": "a b c"}{"needed": "yes", "instruction": "d e"}', None),
        ('{"needed": "yes", "instruction": "a b"} {"needed": "no"}', None),
        ("", None),
    ],
)
def test_whether_it_is_needed(text: str, found: SimplifyReply | None) -> None:
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
    step, compound, shorter = read_step(text), read_compound(text), read_simplified(text)
    said += list(step or ()) + list(compound or ())
    said += [shorter.instruction] if shorter else []
    checked = read_step_checks(text, 2) or []
    said += [one.reason for one in checked]
    if "\\" in text:
        return  # what JSON escapes stands there in other letters
    known = " ".join(text.encode("utf-8", "replace").decode().split())
    allowed = known.replace("true", "true yes").replace("false", "false no")
    for words in said:
        for word in re.findall(r"\w+", words):
            assert word in allowed


@pytest.mark.parametrize("piece", ["[", "{", '{"a":', "*", " ", "1. (", "“", '"instruction":"'])
def test_hostile_text_is_cheap(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    for read in (read_sequence, read_simplified, read_compound, read_step):
        read(text)
    assert time.process_time() - began < 2.0


def test_the_fake_writer_knows_the_forms_that_are_asked_for() -> None:
    chance = random.Random(1)
    forms = [getattr(chain_replies, name) for name in dir(chain_replies) if name.endswith("_FORMAT")]
    assert len(forms) == 5
    for asked in forms:
        assert write_chain_reply(asked, chance) is not None
    assert write_chain_reply("Q1: Is it red?", chance) is None
