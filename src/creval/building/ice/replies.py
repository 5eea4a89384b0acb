"""What models write back where items are built, read from whatever form they give it."""

from __future__ import annotations

import re
from typing import NamedTuple

from creval.parsing.instructions import read_instruction
from creval.parsing.records import only, records

CAPTION_FORMAT = 'Answer with JSON: {"caption": "the description"}'
FILL_FORMAT = (
    'Answer with JSON: {"instruction": "the template with its places filled"}. Where the task '
    'makes no sense for what is shown, answer {"unsuited": "why"} instead.'
)
_DENIED = re.compile(r"\W*(?:no|none|false|null|n/?a|not applicable)\W*", re.IGNORECASE)


class Filled(NamedTuple):
    """An instruction or, in its place, why the task does not suit."""

    instruction: str
    unsuited: str = ""


def read_caption(text: str) -> str:
    """The one description in a reply, also where it is nothing else; or nothing."""
    found = records(text)
    if found:
        return only(found, "caption")
    told = read_instruction(text)
    return told.text if told else ""


def read_filled(text: str) -> Filled | None:
    """The one instruction in a reply, or why there is none; nothing where it has both."""
    found = records(text)
    instruction, unsuited = only(found, "instruction"), only(found, "unsuited")
    if _DENIED.fullmatch(unsuited):
        unsuited = ""
    if unsuited and not instruction:
        return Filled("", unsuited)
    if not found and (told := read_instruction(text)):
        instruction = told.text
    return Filled(instruction) if instruction and not unsuited else None
