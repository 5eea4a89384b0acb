"""Formats and parsers of the replies from which ICE-Bench items are built. Parsers accept other common formats too."""

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
    """An instruction, or the reason why the task does not suit."""

    instruction: str
    unsuitable_reason: str = ""


def read_caption(text: str) -> str:
    """Return the description in a reply, which may be JSON or plain text, or ""."""
    found = parse_records(text)
    if found:
        return single_value(found, "caption")
    plain = parse_instruction(text)
    return plain.text if plain else ""


def read_filled_template(text: str) -> FilledTemplate | None:
    """Return the instruction in a reply, or the reason why it has none. None if the reply has both or is unreadable."""
    found = parse_records(text)
    instruction, unsuited = single_value(found, "instruction"), single_value(found, "unsuited")
    if _DENIED.fullmatch(unsuited):
        unsuited = ""
    if unsuited and not instruction:
        return FilledTemplate("", unsuited)
    if not found and (plain := parse_instruction(text)):
        instruction = plain.text
    return FilledTemplate(instruction) if instruction and not unsuited else None
