"""Captions written by a model: of an image, and of the ideal result of an edit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from creval.building import text_rules
from creval.building.ice.text_replies import CAPTION_FORMAT, read_caption
from creval.calls.validated_text import InvalidReplyError, ValidatingSession, load_prompt_with_places
from creval.prompts import Prompt

SOURCE_STAGE, TARGET_STAGE = "caption", "target caption"
SOURCE_WORDS, TARGET_WORDS, CAPTION_TOKENS = 130, 250, 80
"""Words of the requests, and tokens of a caption."""
_LENGTH = text_rules.length_rule(4, 60)  # CLIP truncates longer texts
_ABOUT_EDITING = re.compile(
    r"\b(?:edited|original|source|resulting|output) (?:image|picture|photo)|\b(?:before|after) the edit", re.IGNORECASE
)


def load_caption_prompts(folder: str | None) -> dict[str, Prompt]:
    """Return the prompts by stage."""
    return {
        SOURCE_STAGE: load_prompt_with_places("caption_source", folder),
        TARGET_STAGE: load_prompt_with_places("caption_target", folder, "instruction"),
    }


async def write_source_caption(session: ValidatingSession, prompts: Mapping[str, Prompt]) -> str:
    """Return a caption of the session's image."""
    return await session.generate_until_valid(
        "writer", SOURCE_STAGE, prompts[SOURCE_STAGE], _read_valid, format=CAPTION_FORMAT
    )


async def write_target_caption(
    session: ValidatingSession, prompts: Mapping[str, Prompt], caption: str, instruction: str
) -> str:
    """Return a caption of the ideal edit of the session's image.

    `caption` is the caption of the image before the edit.
    """

    def read(text: str) -> str:
        found = _read_valid(text)
        if match := _ABOUT_EDITING.search(found):
            raise InvalidReplyError(
                f"subject: it speaks of the editing (“{match[0]}”), but must describe only what is seen"
            )
        if " ".join(found.casefold().split()) == " ".join(caption.casefold().split()):
            raise InvalidReplyError("no change: it is the description of the picture before the edit")
        return found

    return await session.generate_until_valid(
        "writer",
        TARGET_STAGE,
        prompts[TARGET_STAGE],
        read,
        caption=caption,
        instruction=instruction,
        format=CAPTION_FORMAT,
    )


def _read_valid(text: str) -> str:
    found = read_caption(text)
    if not found:
        raise InvalidReplyError("format: one description, and only one, is needed")
    return text_rules.require_valid(found, length=_LENGTH)
