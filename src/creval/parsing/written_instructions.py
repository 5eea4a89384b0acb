"""Wording that asks a model to write an instruction, and parsing of the reply in any format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from creval.parsing.json_objects import MAX_DEPTH, iter_json_objects
from creval.parsing.labels import MARKUP, MAX_TEXT_CHARS, labelled_lines, normalise_text, strip_markup
from creval.parsing.reply_format import TEXT, ReplyFormat, choice_schema, object_schema
from creval.parsing.written_questions import WRITTEN_FIELDS


class WrittenInstruction(NamedTuple):
    """An instruction that a model wrote, with the dimension and attributes that the model named."""

    text: str
    dimension: str = ""
    attributes: tuple[str, ...] = ()


def instruction_reply_format(dimensions: Sequence[str] = (), only_added: bool = False) -> ReplyFormat:
    """Return the reply format of one instruction with its attributes.

    With `dimensions`, the model also names one of them. With `only_added`, it lists only the attributes that it added.
    """
    entry: dict[str, object] = {"dimension": "..."} if dimensions else {}
    entry |= {"attributes": ["...", "..."], "instruction": "..."}
    named = "the name of the dimension as it is given above, " if dimensions else ""
    which = "the attributes that you added" if only_added else "the attributes"
    fields = {"dimension": choice_schema(dimensions)} if dimensions else {}
    return ReplyFormat(
        f"Reply with one JSON object and nothing else, in this form:\n{json.dumps(entry)}\n"
        f"It holds {named}{which} in a few words each, and the instruction.",
        object_schema(**fields, attributes={"type": "array", "items": TEXT}, instruction=TEXT),
    )


def dimension_reply_format(dimensions: Sequence[str]) -> ReplyFormat:
    """Return the reply format that asks for an instruction's dimension."""
    return ReplyFormat(
        "Reply with one JSON object and nothing else, in this form:\n"
        '{"dimension": "..."}\nIt holds the name of the dimension as it is given above.',
        object_schema(dimension=choice_schema(dimensions)),
    )


def match_one_of(text: str, names: Sequence[str]) -> str | None:
    """Return the one of these names that occurs in a reply. None if no name or more than one occurs."""
    said = normalise_text(text[: 10 * MAX_TEXT_CHARS])
    found = [name for name in names if normalise_text(name) in said]
    return found[0] if len(found) == 1 else None


_FENCE = re.compile(r"^[ \t]*```[A-Za-z]*[ \t\r]*$", re.MULTILINE)
_LIST_NUMBER = re.compile(r"^1[.)]\s+")
_WORD_COUNT = re.compile(r"\W*(?:word count|words|字数|[0-9]+ words)\b", re.IGNORECASE)
_HIGHLIGHTED = re.compile(r"\s*(?:[\"“「『>]|\*\*|__)[\s\S]+?(?:[\"”」』]|\*\*|__|(?<=\.))\s*")


def parse_instruction(text: str) -> WrittenInstruction | None:
    """Return the instruction in a reply. None if the reply contains no instruction, or more than one."""
    found = [made for value in iter_json_objects(text) for made in _iter_instructions(value, 0)]
    if not found:
        found = _labelled_instructions(text)
    if not found:
        found = [WrittenInstruction(words) for words in _candidate_paragraphs(text)]
    return found[0] if found and len({normalise_text(made.text) for made in found}) == 1 else None


def _iter_instructions(value: Any, depth: int) -> Iterator[WrittenInstruction]:
    if isinstance(value, list) and depth <= MAX_DEPTH:
        for inner in value:
            yield from _iter_instructions(inner, depth + 1)
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return
    fields = WRITTEN_FIELDS.select(value)
    text = fields.get("instruction")
    if isinstance(text, str) and strip_markup(text):
        yield WrittenInstruction(
            _strip_quotes(text), _parse_dimension(fields.get("dimension")), _parse_attributes(fields.get("attributes"))
        )
        return
    for inner in value.values():
        yield from _iter_instructions(inner, depth + 1)


def _parse_dimension(value: object) -> str:
    return strip_markup(value.strip(MARKUP + ".,"))[:MAX_TEXT_CHARS] if isinstance(value, str) else ""


def _parse_attributes(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[;；、]", value)
    if not isinstance(value, list):
        return ()
    return tuple(words for part in value if isinstance(part, str) if (words := strip_markup(part)[:MAX_TEXT_CHARS]))


def _strip_quotes(text: str) -> str:
    """Remove a leading list number, and quotes around the text or on one side of it."""
    words = _LIST_NUMBER.sub("", strip_markup(text)[:MAX_TEXT_CHARS])
    for opening, closing in ('""', "“”", "「」"):
        inner = words.rstrip(",").removeprefix(opening).removesuffix(closing)
        if len(words) - len(inner) >= 1 and opening not in inner and closing not in inner:
            return inner.strip()
    return words


def _labelled_instructions(text: str) -> list[WrittenInstruction]:
    """Parse instructions that follow the label `Instruction:` on the same line or the next."""
    found: list[WrittenInstruction] = []
    dimension, waiting = "", False
    attributes: tuple[str, ...] = ()
    for line, slot, value in labelled_lines(text.splitlines(), WRITTEN_FIELDS.find):
        if slot == "instruction":
            waiting = not value.strip(MARKUP)
            if not waiting:
                found.append(WrittenInstruction(_strip_quotes(value)))
        elif slot == "dimension":
            dimension = _parse_dimension(value)
        elif slot == "attributes":
            attributes = _parse_attributes(value)
        elif waiting and line.strip(MARKUP):
            found.append(WrittenInstruction(_strip_quotes(line.strip(" \t>"))))
            waiting = False
    return [made._replace(dimension=dimension, attributes=attributes) for made in found]


def _candidate_paragraphs(text: str) -> Sequence[str]:
    """Return the paragraphs that may be an instruction: the highlighted ones if there are any, or else all.

    Paragraphs that introduce another text, contain JSON or state a number of words are excluded.
    """
    parts = [part.strip() for part in re.split(r"\n\s*\n", _FENCE.sub("", text[: 10 * MAX_TEXT_CHARS]))]
    parts = [part for part in parts if part and not part.endswith((":", "：")) and "{" not in part]
    parts = [part for part in parts if not _WORD_COUNT.match(part)]
    marked = [part for part in parts if _HIGHLIGHTED.fullmatch(part)]
    words = [_strip_quotes(part.lstrip("> ")) for part in (marked or parts)]
    return [part for part in words if part]
