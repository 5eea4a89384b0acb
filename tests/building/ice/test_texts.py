from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any, cast

import pytest

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice import replies
from creval.building.ice.pipeline import load_texts, write_item
from creval.building.ice.texts import (
    INSTRUCTION,
    SOURCE_CAPTION,
    TARGET_CAPTION,
    Inputs,
    Step,
    UnsuitedError,
    Written,
    expected,
    instruction_fault,
    lost_names,
    own_fault,
    steps,
)
from creval.calls.validated_text import NotAcceptedError, Scribe
from creval.testing import fake_ice
from creval.testing.fake_chains import FORMS, render
from tests.building.chains_made import Script

A, B, C = Path("a.png"), Path("b.png"), Path("c.png")
TEXTS = load_texts()
RECOLOUR = Inputs(TASKS["Color Editing"], A)
TRY_ON = Inputs(TASKS["Virtual Try On"], A, B, (C,))
LETTERING = Inputs(TASKS["Text Render"], A)
DEBLUR = Inputs(TASKS["Image Deblurring"], A, photograph=B)
TEMPLATE = "Make {the thing} in <SOURCE> {its new colour}."


def wrote(
    script: Script, inputs: Inputs, template: str, told: Written | None = None, **more: Any
) -> Written:
    scribe = Scribe(cast("Any", script), 1)
    return asyncio.run(write_item(scribe, TEXTS, inputs, template, told or Written({}), **more))


def test_an_item_is_described_instructed_and_imagined() -> None:
    script = Script(
        '{"caption": "A red car in front of a house."}',
        '{"instruction": "Make the car in <SOURCE> blue."}',
        "A blue car in front of a house.",
    )
    made = wrote(script, RECOLOUR, TEMPLATE)
    assert made.texts == {
        INSTRUCTION: "Make the car in <SOURCE> blue.",
        SOURCE_CAPTION: "A red car in front of a house.",
        TARGET_CAPTION: "A blue car in front of a house.",
    }
    assert made.by == {
        SOURCE_CAPTION: "captioner", INSTRUCTION: "writer", TARGET_CAPTION: "captioner",
    }  # fmt: skip
    assert "Template: Make {the thing} in <SOURCE> {its new colour}." in script.said[1]
    assert "A red car in front of a house." in script.said[1]
    assert "The instruction: Make the car in <SOURCE> blue." in script.said[2]


def test_who_imagines_the_edit_sees_all_inputs() -> None:
    class Looking(Script):
        async def ask(self, _role: str, stage: str, prompt: Any, **places: Any) -> str:
            shown.append((_role, places["show"]))
            return await super().ask(_role, stage, prompt, **places)

    shown: list[tuple[str, list[Path]]] = []
    script = Looking(
        "A woman in a white shirt.", '{"instruction": "Let the person in <SOURCE> wear <REF_1>."}',
        "A woman in a green coat.",
    )  # fmt: skip
    wrote(script, TRY_ON, "Dress the person in <SOURCE> in {the garment} of <REF_1>.")
    assert shown == [("captioner", [A]), ("writer", [A, B, C]), ("captioner", [A, B, C])]
    assert "Picture 2 is a mask" in script.said[2]
    assert "Picture 3 is a picture to refer to, <REF_1>." in script.said[2]


def test_what_an_item_takes_is_known_before() -> None:
    assert steps(TRY_ON, "Dress <SOURCE> in {a garment}.", {}) == [
        Step(SOURCE_CAPTION, "captioner", {"source": A}),
        Step(INSTRUCTION, "writer", {"source": A, "mask": B, "reference 1": C}),
        Step(TARGET_CAPTION, "captioner", {"source": A, "mask": B, "reference 1": C}),
    ]
    assert steps(DEBLUR, "Make <SOURCE> sharp.", {SOURCE_CAPTION: "A house."}) == [
        Step(INSTRUCTION, "template"), Step(TARGET_CAPTION, "captioner", {"source": A}),
    ]  # fmt: skip
    words = Inputs(TASKS["Text-to-Image Creating"], photograph=A)
    assert steps(words, "{a scene}", {}) == [
        Step(INSTRUCTION, "writer", {"example": A}), Step(TARGET_CAPTION, "instruction"),
    ]  # fmt: skip
    assert steps(words, "{a scene}", {}, people=True) == [Step(INSTRUCTION, "template")]
    of = [steps(inputs, TEMPLATE, {}) for inputs in (TRY_ON, RECOLOUR, words, RECOLOUR)]
    assert [(made.role, made.calls, made.pictures) for made in expected(of)] == [
        ("captioner", 0.25, 1), ("captioner", 0.5, 1), ("captioner", 0.25, 3),
        ("writer", 0.75, 1), ("writer", 0.25, 3),
    ]  # fmt: skip


def test_a_template_without_blanks_needs_no_writer() -> None:
    script = Script("A blurred house behind trees.", "A house behind trees, sharp and clear.")
    made = wrote(script, DEBLUR, "Make <SOURCE> sharp and clear.")
    assert (made.texts[INSTRUCTION], made.by[INSTRUCTION]) == (
        "Make <SOURCE> sharp and clear.", "template",
    )  # fmt: skip


def test_the_writer_says_whether_a_task_suits_that_nobody_is_sure_of() -> None:
    script = Script("A blurred house behind trees.", '{"unsuited": "it is sharp"}')
    with pytest.raises(UnsuitedError, match="it is sharp"):
        wrote(script, DEBLUR, "Make <SOURCE> sharp and clear.", sure=False)
    assert "made of a photograph that was described so: A blurred house" in script.said[1]
    assert "The source was described so" not in script.said[1]


def test_people_fill_in_later() -> None:
    script = Script("A red car in front of a house.")
    made = wrote(script, RECOLOUR, TEMPLATE, people=True)
    assert (made.texts[INSTRUCTION], made.texts[TARGET_CAPTION]) == (TEMPLATE, "")


def test_words_alone_are_their_own_description() -> None:
    script = Script('{"instruction": "A fox under a lamp in the rain."}')
    made = wrote(script, Inputs(TASKS["Text-to-Image Creating"], photograph=A), "{a scene}")
    assert made.texts[TARGET_CAPTION] == made.texts[INSTRUCTION]
    assert made.texts[SOURCE_CAPTION] == ""
    assert "an example" in script.said[0]


def test_what_was_told_stays() -> None:
    told = Written({INSTRUCTION: "Make <SOURCE> blue."}, {INSTRUCTION: "given"})
    made = wrote(Script("A red car in a street.", "A blue car in a street."), RECOLOUR, "x", told)
    assert made.by[INSTRUCTION] == "given"
    assert made.texts[INSTRUCTION] == "Make <SOURCE> blue."


def test_a_task_that_does_not_suit_is_not_asked_for_again() -> None:
    script = Script("A red car in a street.", '{"unsuited": "there is no face"}')
    with pytest.raises(UnsuitedError, match="Face Editing does not suit: there is no face"):
        wrote(script, Inputs(TASKS["Face Editing"], A), "Give {the person} {hair} in <SOURCE>.")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('{"instruction": "Make {the thing} in <SOURCE> red."}', "blank"),
        ('{"instruction": "Make the thing in <SOURCE> its new colour."}', "blank"),
        ('{"instruction": "Make the car in <SOURCE> its new colour."}', "blank"),
        ('{"instruction": "Make the thing in <SOURCE> red."}', "blank"),
        ('{"instruction": "Make the car red."}', "<SOURCE> is not named"),
        ('{"instruction": "Make the car in <SOURCE> as red as <REF_1>."}', "there is no <REF_1>"),
        ('[{"instruction": "Make <SOURCE> red."}, {"instruction": "Make <SOURCE> blue."}]', "form"),
        ('{"instruction": "Make <SOURCE> red.", "unsuited": "no car"}', "format"),
        ('{"instruction": "<SOURCE> red"}', ""),
        ('{"instruction": "Make <SOURCE> red red red red."}', "garbled"),
        ("I'm sorry, but I can't help with that.", "declined"),
    ],
)
def test_instructions_that_break_a_rule_are_asked_for_again(said: str, reason: str) -> None:
    script = Script("A red car in a street.", said, said, "A blue car in a street.")
    if not reason:
        assert wrote(script, RECOLOUR, TEMPLATE).texts[INSTRUCTION] == "<SOURCE> red"
        return
    with pytest.raises(NotAcceptedError, match=reason):
        wrote(script, RECOLOUR, TEMPLATE)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("The edited image shows a blue car.", "speaks of the editing"),
        ("A car as in <REF_1> on a street.", "left-over format"),
        ('A sign that says "OPAN" on a wall.', "the words “OPEN” are lost"),
        ("Blue car.", "at least 4"),
    ],
)
def test_descriptions_of_the_edit_say_only_what_is_seen(said: str, reason: str) -> None:
    script = Script(
        "A grey wall in a street.", '{"instruction": "Write \\"OPEN\\" on the wall in <SOURCE>."}',
        said, said,
    )  # fmt: skip
    with pytest.raises(NotAcceptedError, match=reason):
        wrote(script, LETTERING, 'Write "{the words}" in <SOURCE>.')


def test_words_to_be_written_stand_in_quotation_marks() -> None:
    template = 'Write "{the words}" in <SOURCE>.'
    assert "quotation marks" in instruction_fault("Write HELLO in <SOURCE>.", LETTERING, template)
    assert instruction_fault("Write “HELLO” in <SOURCE>.", LETTERING, template) == ""


def test_people_may_say_it_in_their_own_way() -> None:
    assert own_fault("把 <SOURCE> 变成蓝色。", ["<SOURCE>"]) == ""
    assert own_fault(" ".join(["word", "other"] * 150), []) == ""
    assert own_fault('Write "{name}" on it.', []) == ""
    assert "there is no <REF_1>" in own_fault("Like <REF_1>.", ["<SOURCE>"])
    assert "there is no <REF_7>" in own_fault("Like [REF_7].", ["<SOURCE>"])
    assert lost_names("Blue [SOURCE].", "Make <SOURCE> blue.") == []
    assert "garbled" in own_fault("Make it \ufffd\ufffd red.", [])


@pytest.mark.parametrize("form", [*FORMS, "plain"])
def test_replies_are_read_in_all_forms(form: str) -> None:
    said = "Make the car in <SOURCE> blue."

    def told(name: str) -> str:
        return said if form == "plain" else render([{name: said}], form)

    assert replies.read_filled(told("instruction")) == (said, "")
    assert replies.read_caption(told("caption")) == said


@pytest.mark.parametrize("denied", ["false", '"no"', '"No."', '"N/A"', '"none"', "null", '""'])
def test_what_denies_that_a_task_is_unsuited_is_no_reason(denied: str) -> None:
    said = f'"unsuited": {denied}}}'
    both = f'{{"instruction": "Make <SOURCE> red.", {said}'
    assert replies.read_filled(both) == ("Make <SOURCE> red.", "")
    assert replies.read_filled(f"{{{said}") is None


def test_the_fake_server_writes_what_can_be_read() -> None:
    chance = random.Random(4)
    prompt = TEXTS.fill.fill(
        task="Color Editing", meaning="x", pictures="", caption="y", photograph="", reason="",
        template=TEMPLATE, format=replies.FILL_FORMAT,
    )  # fmt: skip
    found = [replies.read_filled(fake_ice.answer(prompt, chance) or "") for _ in range(300)]
    assert all(one is not None for one in found)
    assert 2 < sum(bool(one and one.unsuited) for one in found) < 40
    fine = [one for one in found if one and not one.unsuited
            and not instruction_fault(one.instruction, RECOLOUR, TEMPLATE)]  # fmt: skip
    assert len(fine) > 250
    assert fake_ice.answer("Is it red?", chance) is None
