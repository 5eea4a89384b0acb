"""Replies of the models that build items of ICE-Bench, read from whatever form they come in."""

from __future__ import annotations

import re
from typing import NamedTuple

from creval.parsing.records import parse_records, single_value
from creval.parsing.reply_format import TEXT, TEXT_OR_NULL, ReplyFormat, object_schema
from creval.parsing.written_instructions import parse_instruction

CAPTION_FORMAT = ReplyFormat('Answer with JSON: {"caption": "the description"}', object_schema(caption=TEXT))
FILL_FORMAT = ReplyFormat(
    'Answer with JSON: {"instruction": "the template with its places filled"}. Where the task '
    'makes no sense for what is shown, answer {"unsuited": "why"} instead.',
    object_schema(unsuited=TEXT_OR_NULL, instruction=TEXT_OR_NULL),
)
_DENIED = re.compile(r"\W*(?:no|none|false|null|n/?a|not applicable)\W*", re.IGNORECASE)


class FilledTemplate(NamedTuple):
    """An instruction or, in its place, why the task does not suit."""

    instruction: str
    unsuitable_reason: str = ""


def read_caption(text: str) -> str:
    """Return the one description in a reply, also if this is all of it; empty if there is none."""
    found = parse_records(text)
    if found:
        return single_value(found, "caption")
    told = parse_instruction(text)
    return told.text if told else ""


def read_filled_template(text: str) -> FilledTemplate | None:
    """Return the one instruction in a reply, or why there is none; None if it has both."""
    found = parse_records(text)
    instruction, unsuited = single_value(found, "instruction"), single_value(found, "unsuited")
    if _DENIED.fullmatch(unsuited):
        unsuited = ""
    if unsuited and not instruction:
        return FilledTemplate("", unsuited)
    if not found and (told := parse_instruction(text)):
        instruction = told.text
    return FilledTemplate(instruction) if instruction and not unsuited else None
