"""The texts of an item of ICE-Bench, by models: a description of the source, an instruction, and a
description of what an ideal edit would show, by one that sees all inputs (arXiv 2503.14482, section
3.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from creval.building import text_rules
from creval.building.ice import replies
from creval.building.ice.task_kits import KITS
from creval.building.ice.texts import (
    INSTRUCTION,
    PARTS,
    SOURCE_CAPTION,
    TEMPLATE,
    WORDS,
    Inputs,
    Step,
    UnsuitedError,
    Written,
    instruction_fault,
    steps,
)
from creval.calls.validated_text import RejectedError, Scribe, load_text
from creval.parsing.text_checks import quotes
from creval.prompts import Prompt

DESCRIBING = "source caption"
"""The stage in which a picture is described, for all items that are made of it."""
_CAPTION = text_rules.length(4, 60)  # CLIP reads no more, about
_ABOUT_EDITING = re.compile(
    r"\b(?:edited|original|source|resulting|output|reference|control) (?:image|picture|photo)|"
    r"\bmasked (?:part|area|region)\b|[<\[](?:SOURCE|REF_)",
    re.IGNORECASE,
)


class Texts(NamedTuple):
    """The three prompts."""

    caption: Prompt
    fill: Prompt
    target: Prompt


def load_texts(folder: str | None = None) -> Texts:
    return Texts(
        load_text("ice_caption", folder),
        load_text("ice_instruction", folder, "template"),
        load_text("ice_target", folder, "instruction"),
    )


async def write_item(scribe: Scribe, texts: Texts, inputs: Inputs, template: str, told: Written,
                     *, people: bool = False, sure: bool = True) -> Written:  # fmt: skip
    """All texts of an item. What is `told` stays; for the others see `steps`."""
    made = Written(dict.fromkeys(PARTS, "") | told.texts, dict(told.by))
    for step in steps(inputs, template, made.texts, people=people, sure=sure):
        made.texts[step.part] = await _text(scribe, texts, step, inputs, template, made)
        made.by[step.part] = step.by
    return made


async def _text(scribe: Scribe, texts: Texts, step: Step, inputs: Inputs, template: str,
                made: Written) -> str:  # fmt: skip
    if step.by == TEMPLATE:
        return template
    if step.by == WORDS:
        return made.texts[INSTRUCTION]
    if step.part == SOURCE_CAPTION:
        return await _caption(scribe, texts.caption, step)
    if step.part == INSTRUCTION:
        return await _filled(scribe, texts.fill, step, inputs, template, made)
    return await _target(scribe, texts.target, step, inputs, made)


async def _caption(scribe: Scribe, prompt: Prompt, step: Step) -> str:
    def read(text: str) -> str:
        return _sound(replies.read_caption(text), length=_CAPTION)

    return await scribe.insist(
        step.by,
        DESCRIBING,
        prompt,
        read,
        show=list(step.shown.values()),
        format=replies.CAPTION_FORMAT,
    )


async def _filled(
    scribe: Scribe, prompt: Prompt, step: Step, inputs: Inputs, template: str, made: Written
) -> str:
    task = inputs.task

    def read(text: str) -> str:
        found = replies.read_filled(text)
        if found is None:
            raise RejectedError("format: one instruction, and only one, is needed")
        if found.unsuited:
            raise UnsuitedError(f"{task.name} does not suit: {found.unsuited}"[:300])
        if reason := instruction_fault(found.instruction, inputs, template):
            raise RejectedError(reason)
        return found.instruction

    return await scribe.insist(
        step.by, f"instruction for {task.name}", prompt, read, show=list(step.shown.values()),
        pictures=_told(step.shown), task=task.name, meaning=KITS[task.name].meaning,
        **_described(inputs, made), template=template, format=replies.FILL_FORMAT,
    )  # fmt: skip


async def _target(scribe: Scribe, prompt: Prompt, step: Step, inputs: Inputs, made: Written) -> str:
    instruction = made.texts[INSTRUCTION]

    def about_editing(text: str) -> str:
        match = _ABOUT_EDITING.search(text)
        return f"it speaks of the editing (“{match[0]}”), not of what is seen" if match else ""

    def read(text: str) -> str:
        return _sound(
            replies.read_caption(text), length=_CAPTION, subject=about_editing,
            lost_words=text_rules.keeps(
                quotes(instruction) if "Render" in inputs.task.name else ()
            ),
        )  # fmt: skip

    return await scribe.insist(
        step.by, "target caption", prompt, read, show=list(step.shown.values()),
        pictures=_told(step.shown), task=inputs.task.name, meaning=KITS[inputs.task.name].meaning,
        **_described(inputs, made), instruction=instruction, format=replies.CAPTION_FORMAT,
    )  # fmt: skip


def _described(inputs: Inputs, made: Written) -> dict[str, str]:
    """The description of the source, or of the photograph that it was made of."""
    said = made.texts[SOURCE_CAPTION]
    of_source = inputs.photograph is None
    return {"caption": said if of_source else "", "photograph": "" if of_source else said}


def _told(shown: Mapping[str, Path]) -> str:
    """Which picture is which."""
    words = {
        "source": "the picture to work from, <SOURCE>",
        "mask": "a mask, white where <SOURCE> is to change",
        "example": "an example of what people would like to see",
    }
    return "\n".join(
        f"Picture {at} is {words.get(name) or _reference(name)}."
        for at, name in enumerate(shown, 1)
    )


def _reference(name: str) -> str:
    return f"a picture to refer to, <REF_{name.removeprefix('reference ')}>"


def _sound(text: str, **rules: text_rules.Rule) -> str:
    if not text:
        raise RejectedError("format: one description, and only one, is needed")
    if reason := text_rules.broken(text, **rules):
        raise RejectedError(reason)
    return text
