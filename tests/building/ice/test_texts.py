from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any, cast

import pytest

from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice import text_replies
from creval.building.ice.pipeline import load_ice_prompts, write_item_texts
from creval.building.ice.texts import (
    INSTRUCTION,
    SOURCE_CAPTION,
    TARGET_CAPTION,
    ItemInputs,
    ItemTexts,
    MissingText,
    TaskUnsuitableError,
    estimate_text_stages,
    find_missing_image_tags,
    find_missing_texts,
    invalid_instruction_reason,
    invalid_text_reason,
)
from creval.calls.validated_text import RetriesExhaustedError, ValidatingSession
from creval.testing.fake_chains import RECORD_FORMATS, render_records
from creval.testing.fake_chat_server import write_text
from tests.building.chains_made import Script

A, B, C = Path("a.png"), Path("b.png"), Path("c.png")
TEXTS = load_ice_prompts()
RECOLOUR = ItemInputs(TASKS["Color Editing"], A)
TRY_ON = ItemInputs(TASKS["Virtual Try On"], A, B, (C,))
LETTERING = ItemInputs(TASKS["Text Render"], A)
DEBLUR = ItemInputs(TASKS["Image Deblurring"], A, photograph=B)
TEMPLATE = "Make {the thing} in <SOURCE> {its new colour}."


def wrote(script: Script, inputs: ItemInputs, template: str, told: ItemTexts | None = None, **more: Any) -> ItemTexts:
    scribe = ValidatingSession(cast("Any", script), 1)
    return asyncio.run(write_item_texts(scribe, TEXTS, inputs, template, told or ItemTexts({}), **more))


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
    assert made.authors == {SOURCE_CAPTION: "captioner", INSTRUCTION: "writer", TARGET_CAPTION: "captioner"}
    assert "Template: Make {the thing} in <SOURCE> {its new colour}." in script.said[1]
    assert "A red car in front of a house." in script.said[1]
    assert "The instruction: Make the car in <SOURCE> blue." in script.said[2]


def test_the_target_caption_prompt_shows_all_inputs() -> None:
    class Looking(Script):
        async def generate(self, _role: str, stage: str, prompt: Any, **places: Any) -> str:
            shown.append((_role, places["image_paths"]))
            return await super().generate(_role, stage, prompt, **places)

    shown: list[tuple[str, list[Path]]] = []
    script = Looking(
        "A woman in a white shirt.",
        '{"instruction": "Let the person in <SOURCE> wear <REF_1>."}',
        "A woman in a green coat.",
    )
    wrote(script, TRY_ON, "Dress the person in <SOURCE> in {the garment} of <REF_1>.")
    assert shown == [("captioner", [A]), ("writer", [A, B, C]), ("captioner", [A, B, C])]
    assert "Picture 2 is a mask" in script.said[2]
    assert "Picture 3 is a picture to refer to, <REF_1>." in script.said[2]


def test_the_missing_texts_of_an_item_are_known_in_advance() -> None:
    assert find_missing_texts(TRY_ON, "Dress <SOURCE> in {a garment}.", {}) == [
        MissingText(SOURCE_CAPTION, "captioner", {"source": A}),
        MissingText(INSTRUCTION, "writer", {"source": A, "mask": B, "reference 1": C}),
        MissingText(TARGET_CAPTION, "captioner", {"source": A, "mask": B, "reference 1": C}),
    ]
    assert find_missing_texts(DEBLUR, "Make <SOURCE> sharp.", {SOURCE_CAPTION: "A house."}) == [
        MissingText(INSTRUCTION, "template"),
        MissingText(TARGET_CAPTION, "captioner", {"source": A}),
    ]
    words = ItemInputs(TASKS["Text-to-Image Creating"], photograph=A)
    assert find_missing_texts(words, "{a scene}", {}) == [
        MissingText(INSTRUCTION, "writer", {"example": A}),
        MissingText(TARGET_CAPTION, "instruction"),
    ]
    assert find_missing_texts(words, "{a scene}", {}, people_fill_in=True) == [MissingText(INSTRUCTION, "template")]
    of = [find_missing_texts(inputs, TEMPLATE, {}) for inputs in (TRY_ON, RECOLOUR, words, RECOLOUR)]
    assert [(made.role, made.calls, made.images) for made in estimate_text_stages(of)] == [
        ("captioner", 0.25, 1),
        ("captioner", 0.5, 1),
        ("captioner", 0.25, 3),
        ("writer", 0.75, 1),
        ("writer", 0.25, 3),
    ]


def test_a_template_without_blanks_needs_no_writer() -> None:
    script = Script("A blurred house behind trees.", "A house behind trees, sharp and clear.")
    made = wrote(script, DEBLUR, "Make <SOURCE> sharp and clear.")
    assert (made.texts[INSTRUCTION], made.authors[INSTRUCTION]) == ("Make <SOURCE> sharp and clear.", "template")


def test_the_writer_can_reject_an_unsuitable_task() -> None:
    script = Script("A blurred house behind trees.", '{"unsuited": "it is sharp"}')
    with pytest.raises(TaskUnsuitableError, match="it is sharp"):
        wrote(script, DEBLUR, "Make <SOURCE> sharp and clear.", task_is_certain=False)
    assert "made of a photograph that was described so: A blurred house" in script.said[1]
    assert "The source was described so" not in script.said[1]


def test_people_fill_in_later() -> None:
    script = Script("A red car in front of a house.")
    made = wrote(script, RECOLOUR, TEMPLATE, people_fill_in=True)
    assert (made.texts[INSTRUCTION], made.texts[TARGET_CAPTION]) == (TEMPLATE, "")


def test_text_to_image_instructions_are_their_own_caption() -> None:
    script = Script('{"instruction": "A fox under a lamp in the rain."}')
    made = wrote(script, ItemInputs(TASKS["Text-to-Image Creating"], photograph=A), "{a scene}")
    assert made.texts[TARGET_CAPTION] == made.texts[INSTRUCTION]
    assert made.texts[SOURCE_CAPTION] == ""
    assert "an example" in script.said[0]


def test_given_texts_are_kept() -> None:
    told = ItemTexts({INSTRUCTION: "Make <SOURCE> blue."}, {INSTRUCTION: "given"})
    made = wrote(Script("A red car in a street.", "A blue car in a street."), RECOLOUR, "x", told)
    assert made.authors[INSTRUCTION] == "given"
    assert made.texts[INSTRUCTION] == "Make <SOURCE> blue."


def test_a_task_that_does_not_suit_is_not_asked_for_again() -> None:
    script = Script("A red car in a street.", '{"unsuited": "there is no face"}')
    with pytest.raises(TaskUnsuitableError, match="Face Editing does not suit: there is no face"):
        wrote(script, ItemInputs(TASKS["Face Editing"], A), "Give {the person} {hair} in <SOURCE>.")


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
    with pytest.raises(RetriesExhaustedError, match=reason):
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
def test_captions_of_the_edit_describe_only_the_image(said: str, reason: str) -> None:
    script = Script(
        "A grey wall in a street.", '{"instruction": "Write \\"OPEN\\" on the wall in <SOURCE>."}', said, said
    )
    with pytest.raises(RetriesExhaustedError, match=reason):
        wrote(script, LETTERING, 'Write "{the words}" in <SOURCE>.')


def test_words_to_write_must_be_quoted() -> None:
    template = 'Write "{the words}" in <SOURCE>.'
    assert "quotation marks" in invalid_instruction_reason("Write HELLO in <SOURCE>.", LETTERING, template)
    assert invalid_instruction_reason("Write “HELLO” in <SOURCE>.", LETTERING, template) == ""


def test_human_texts_are_checked_less_strictly() -> None:
    assert invalid_text_reason("把 <SOURCE> 变成蓝色。", ["<SOURCE>"]) == ""
    assert invalid_text_reason(" ".join(["word", "other"] * 150), []) == ""
    assert invalid_text_reason('Write "{name}" on it.', []) == ""
    assert "there is no <REF_1>" in invalid_text_reason("Like <REF_1>.", ["<SOURCE>"])
    assert "there is no <REF_7>" in invalid_text_reason("Like [REF_7].", ["<SOURCE>"])
    assert find_missing_image_tags("Blue [SOURCE].", "Make <SOURCE> blue.") == []
    assert "garbled" in invalid_text_reason("Make it \ufffd\ufffd red.", [])


@pytest.mark.parametrize("form", [*RECORD_FORMATS, "plain"])
def test_replies_are_read_in_all_forms(form: str) -> None:
    said = "Make the car in <SOURCE> blue."

    def told(name: str) -> str:
        return said if form == "plain" else render_records([{name: said}], form)

    assert text_replies.read_filled_template(told("instruction")) == (said, "")
    assert text_replies.read_caption(told("caption")) == said


@pytest.mark.parametrize("denied", ["false", '"no"', '"No."', '"N/A"', '"none"', "null", '""'])
def test_negated_values_of_unsuited_are_ignored(denied: str) -> None:
    said = f'"unsuited": {denied}}}'
    both = f'{{"instruction": "Make <SOURCE> red.", {said}'
    assert text_replies.read_filled_template(both) == ("Make <SOURCE> red.", "")
    assert text_replies.read_filled_template(f"{{{said}") is None


def test_the_fake_server_writes_what_can_be_read() -> None:
    chance = random.Random(4)
    prompt = TEXTS["Instruction"].fill(
        task="Color Editing",
        meaning="x",
        pictures="",
        caption="y",
        photograph="",
        reason="",
        template=TEMPLATE,
        format=text_replies.FILL_FORMAT,
    )
    found = [text_replies.read_filled_template(write_text(prompt, chance) or "") for _ in range(300)]
    assert all(one is not None for one in found)
    assert 2 < sum(bool(one and one.unsuitable_reason) for one in found) < 40
    fine = [
        one
        for one in found
        if one and not one.unsuitable_reason and not invalid_instruction_reason(one.instruction, RECOLOUR, TEMPLATE)
    ]
    assert len(fine) > 250
    assert write_text("Is it red?", chance) is None
