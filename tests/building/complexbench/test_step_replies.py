"""Steps and checks are parsed in every common form, and parsers invent no text."""

from __future__ import annotations

import random
import time

from hypothesis import given
from hypothesis import strategies as st

from creval.building.complexbench.step_replies import (
    CHECK_FORMAT,
    STEP_FORMAT,
    ChainStep,
    StepCheck,
    read_step,
    read_step_checks,
)
from creval.testing.fake_chains import render_records
from creval.testing.fake_chat_server import write_text
from tests.building.reply_texts import HOSTILE, PLAIN, form, hostile_piece, invented_words, json_of_schema, some


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


@given(HOSTILE)
def test_no_text_makes_it_raise_or_invent(text: str) -> None:
    checked = read_step_checks(text, 2) or []
    assert not invented_words(text, [*(read_step(text) or ()), *(one.reason for one in checked)])


@hostile_piece
def test_hostile_text_is_cheap(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    read_step(text)
    read_step_checks(text, 3)
    assert time.process_time() - began < 1.0


def test_the_fake_writer_knows_the_forms_that_are_asked_for() -> None:
    for asked in (STEP_FORMAT, CHECK_FORMAT):
        assert write_text(asked, random.Random(1)) is not None


def test_replies_in_the_form_of_their_schemas() -> None:
    said = json_of_schema(STEP_FORMAT.schema, new="nothing")
    assert read_step(said) == ChainStep("some instruction", "some old", "")
    checks = [{"number": at, "scene": "yes", "reference": "yes", "conflict": "no", "reason": ""} for at in (1, 2)]
    said = json_of_schema(CHECK_FORMAT.schema, checks=checks)
    assert read_step_checks(said, 2) == [StepCheck(1, True, True, False), StepCheck(2, True, True, False)]
