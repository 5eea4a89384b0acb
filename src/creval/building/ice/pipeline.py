"""The texts of an item of ICE-Bench, by models: a description of the source, an instruction, and a description of
what an ideal edit would show, by one that sees all inputs (arXiv 2503.14482, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from creval.building import text_rules
from creval.building.ice import text_replies
from creval.building.ice.task_kits import TASK_KITS
from creval.building.ice.texts import (
    FROM_INSTRUCTION,
    FROM_TEMPLATE,
    INSTRUCTION,
    SOURCE_CAPTION,
    TEXT_FIELDS,
    ItemInputs,
    ItemTexts,
    MissingText,
    TaskUnsuitableError,
    find_missing_texts,
    invalid_instruction_reason,
)
from creval.calls.validated_text import InvalidReplyError, ValidatingSession, load_prompt_with_places
from creval.parsing.text_checks import find_quotes
from creval.prompts import Prompt

CAPTION_STAGE = "source caption"
"""The stage in which a picture is described, for all items that are made of it."""
_CAPTION_LENGTH = text_rules.length_rule(4, 60)  # CLIP reads no more, about
_ABOUT_EDITING = re.compile(
    r"\b(?:edited|original|source|resulting|output|reference|control) (?:image|picture|photo)|"
    r"\bmasked (?:part|area|region)\b|[<\[](?:SOURCE|REF_)",
    re.IGNORECASE,
)


class IcePrompts(NamedTuple):
    """The three prompts."""

    caption: Prompt
    fill: Prompt
    target: Prompt


def load_ice_prompts(folder: str | None = None) -> IcePrompts:
    return IcePrompts(
        load_prompt_with_places("ice_caption", folder),
        load_prompt_with_places("ice_instruction", folder, "template"),
        load_prompt_with_places("ice_target", folder, "instruction"),
    )


async def write_item_texts(
    session: ValidatingSession,
    prompts: IcePrompts,
    inputs: ItemInputs,
    template: str,
    existing: ItemTexts,
    *,
    people_fill_in: bool = False,
    task_is_certain: bool = True,
) -> ItemTexts:
    """All texts of an item. What is `existing` stays; for the others see `steps`."""
    made = ItemTexts(dict.fromkeys(TEXT_FIELDS, "") | existing.texts, dict(existing.authors))
    for step in find_missing_texts(
        inputs, template, made.texts, people_fill_in=people_fill_in, task_is_certain=task_is_certain
    ):
        made.texts[step.text_field] = await _write_text(session, prompts, step, inputs, template, made)
        made.authors[step.text_field] = step.author
    return made


async def _write_text(
    session: ValidatingSession,
    prompts: IcePrompts,
    missing: MissingText,
    inputs: ItemInputs,
    template: str,
    item_texts: ItemTexts,
) -> str:
    if missing.author == FROM_TEMPLATE:
        return template
    if missing.author == FROM_INSTRUCTION:
        return item_texts.texts[INSTRUCTION]
    if missing.text_field == SOURCE_CAPTION:
        return await _write_caption(session, prompts.caption, missing)
    if missing.text_field == INSTRUCTION:
        return await _fill_template(session, prompts.fill, missing, inputs, template, item_texts)
    return await _write_target_caption(session, prompts.target, missing, inputs, item_texts)


async def _write_caption(session: ValidatingSession, prompt: Prompt, missing: MissingText) -> str:
    def read(text: str) -> str:
        return _validate_caption(text_replies.read_caption(text), length=_CAPTION_LENGTH)

    return await session.generate_until_valid(
        missing.author,
        CAPTION_STAGE,
        prompt,
        read,
        image_paths=list(missing.images.values()),
        format=text_replies.CAPTION_FORMAT,
    )


async def _fill_template(
    session: ValidatingSession,
    prompt: Prompt,
    missing: MissingText,
    inputs: ItemInputs,
    template: str,
    item_texts: ItemTexts,
) -> str:
    task = inputs.task

    def read(text: str) -> str:
        found = text_replies.read_filled_template(text)
        if found is None:
            raise InvalidReplyError("format: one instruction, and only one, is needed")
        if found.unsuitable_reason:
            raise TaskUnsuitableError(f"{task.name} does not suit: {found.unsuitable_reason}"[:300])
        if reason := invalid_instruction_reason(found.instruction, inputs, template):
            raise InvalidReplyError(reason)
        return found.instruction

    return await session.generate_until_valid(
        missing.author,
        f"instruction for {task.name}",
        prompt,
        read,
        image_paths=list(missing.images.values()),
        pictures=_describe_images(missing.images),
        task=task.name,
        meaning=TASK_KITS[task.name].meaning,
        **_caption_places(inputs, item_texts),
        template=template,
        format=text_replies.FILL_FORMAT,
    )


async def _write_target_caption(
    session: ValidatingSession, prompt: Prompt, missing: MissingText, inputs: ItemInputs, item_texts: ItemTexts
) -> str:
    instruction = item_texts.texts[INSTRUCTION]

    def about_editing(text: str) -> str:
        match = _ABOUT_EDITING.search(text)
        return f"it speaks of the editing (“{match[0]}”), not of what is seen" if match else ""

    def read(text: str) -> str:
        return _validate_caption(
            text_replies.read_caption(text),
            length=_CAPTION_LENGTH,
            subject=about_editing,
            lost_words=text_rules.kept_quotes_rule(find_quotes(instruction) if "Render" in inputs.task.name else ()),
        )

    return await session.generate_until_valid(
        missing.author,
        "target caption",
        prompt,
        read,
        image_paths=list(missing.images.values()),
        pictures=_describe_images(missing.images),
        task=inputs.task.name,
        meaning=TASK_KITS[inputs.task.name].meaning,
        **_caption_places(inputs, item_texts),
        instruction=instruction,
        format=text_replies.CAPTION_FORMAT,
    )


def _caption_places(inputs: ItemInputs, item_texts: ItemTexts) -> dict[str, str]:
    """The description of the source, or of the photograph that it was made of."""
    said = item_texts.texts[SOURCE_CAPTION]
    of_source = inputs.photograph is None
    return {"caption": said if of_source else "", "photograph": "" if of_source else said}


def _describe_images(shown: Mapping[str, Path]) -> str:
    """Which picture is which."""
    words = {
        "source": "the picture to work from, <SOURCE>",
        "mask": "a mask, white where <SOURCE> is to change",
        "example": "an example of what people would like to see",
    }
    return "\n".join(
        f"Picture {at} is {words.get(name) or _describe_reference(name)}." for at, name in enumerate(shown, 1)
    )


def _describe_reference(name: str) -> str:
    return f"a picture to refer to, <REF_{name.removeprefix('reference ')}>"


def _validate_caption(text: str, **rules: text_rules.TextRule) -> str:
    if not text:
        raise InvalidReplyError("format: one description, and only one, is needed")
    if reason := text_rules.find_violation(text, **rules):
        raise InvalidReplyError(reason)
    return text
