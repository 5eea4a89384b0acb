"""Generation of the texts of an ICE-Bench item (arXiv 2503.14482, section 3.3).

The texts are a description of the source, an instruction, and a description of an ideal edit (the target caption). The
model that writes the target caption sees all input images.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from creval.building import text_rules
from creval.building.ice import text_replies
from creval.building.ice.task_kits import TASK_KITS
from creval.building.ice.texts import (
    FROM_INSTRUCTION,
    FROM_TEMPLATE,
    INSTRUCTION,
    SOURCE_CAPTION,
    TARGET_CAPTION,
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
"""Stage that describes an image. All items of the image share the result."""
_CAPTION_LENGTH = text_rules.length_rule(4, 60)  # CLIP truncates longer texts
_ABOUT_EDITING = re.compile(
    r"\b(?:edited|original|source|resulting|output|reference|control) (?:image|picture|photo)|"
    r"\bmasked (?:part|area|region)\b|[<\[](?:SOURCE|REF_)",
    re.IGNORECASE,
)


def load_ice_prompts(folder: str | None = None) -> dict[str, Prompt]:
    """Return the prompts for an item's texts."""
    return {
        SOURCE_CAPTION: load_prompt_with_places("ice_caption", folder),
        INSTRUCTION: load_prompt_with_places("ice_instruction", folder, "template"),
        TARGET_CAPTION: load_prompt_with_places("ice_target", folder, "instruction"),
    }


async def write_item_texts(
    session: ValidatingSession,
    prompts: Mapping[str, Prompt],
    inputs: ItemInputs,
    template: str,
    existing: ItemTexts,
    *,
    people_fill_in: bool = False,
    task_is_certain: bool = True,
) -> ItemTexts:
    """Write the missing texts of an item (see `find_missing_texts`), and return all of its texts."""
    made = ItemTexts(dict.fromkeys(TEXT_FIELDS, "") | existing.texts, dict(existing.authors))
    for missing in find_missing_texts(
        inputs, template, made.texts, people_fill_in=people_fill_in, task_is_certain=task_is_certain
    ):
        part, copied = missing.text_field, {FROM_TEMPLATE: template, FROM_INSTRUCTION: made.texts[INSTRUCTION]}
        if missing.author in copied:
            made.texts[part] = copied[missing.author]
        else:
            made.texts[part] = await _write_text(session, prompts[part], missing, inputs, template, made.texts)
        made.authors[part] = missing.author
    return made


async def _write_text(
    session: ValidatingSession,
    prompt: Prompt,
    missing: MissingText,
    inputs: ItemInputs,
    template: str,
    texts: Mapping[str, str],
) -> str:
    task, instruction, caption = inputs.task, texts[INSTRUCTION], texts[SOURCE_CAPTION]

    def read_instruction(text: str) -> str:
        found = text_replies.read_filled_template(text)
        if found is None:
            raise InvalidReplyError("format: one instruction, and only one, is needed")
        if found.unsuitable_reason:
            raise TaskUnsuitableError(f"{task.name} does not suit: {found.unsuitable_reason}"[:300])
        if reason := invalid_instruction_reason(found.instruction, inputs, template):
            raise InvalidReplyError(reason)
        return found.instruction

    def read_caption(text: str) -> str:
        found = text_replies.read_caption(text)
        if not found:
            raise InvalidReplyError("format: one description, and only one, is needed")
        if missing.text_field == SOURCE_CAPTION:
            return text_rules.require_valid(found, length=_CAPTION_LENGTH)
        lost_words = text_rules.kept_quotes_rule(find_quotes(instruction) if "Render" in task.name else ())
        return text_rules.require_valid(found, length=_CAPTION_LENGTH, subject=_about_editing, lost_words=lost_words)

    stage, read, reply_format = {
        SOURCE_CAPTION: (CAPTION_STAGE, read_caption, text_replies.CAPTION_FORMAT),
        INSTRUCTION: (f"instruction for {task.name}", read_instruction, text_replies.FILL_FORMAT),
        TARGET_CAPTION: ("target caption", read_caption, text_replies.CAPTION_FORMAT),
    }[missing.text_field]
    return await session.generate_until_valid(
        missing.author,
        stage,
        prompt,
        read,
        image_paths=list(missing.images.values()),
        pictures=_describe_images(missing.images),
        task=task.name,
        meaning=TASK_KITS[task.name].meaning,
        caption="" if inputs.photograph else caption,  # the caption describes the source
        photograph=caption if inputs.photograph else "",  # or the photograph that it was derived from
        template=template,
        instruction=instruction,
        format=reply_format,
    )


def _about_editing(text: str) -> str:
    match = _ABOUT_EDITING.search(text)
    return f"it speaks of the editing (“{match[0]}”), but must describe only what is seen" if match else ""


def _describe_images(shown: Mapping[str, Path]) -> str:
    """Return lines that say what each image of a request is (source, mask, reference ...)."""
    words = {
        "source": "the picture to work from, <SOURCE>",
        "mask": "a mask, white where <SOURCE> is to change",
        "example": "an example of what people would like to see",
    }
    words |= {
        name: f"a picture to refer to, <REF_{name.removeprefix('reference ')}>" for name in shown if name not in words
    }
    return "\n".join(f"Picture {at} is {words[name]}." for at, name in enumerate(shown, 1))
