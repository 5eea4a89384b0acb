"""The instruction that a model wrote, whatever form it gave it; read as questions are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from creval.parsing.answer_entries import plain
from creval.parsing.questions import DEEPEST, FIELD, LONGEST, MARKUP, objects, one_line, slot_of


class Instruction(NamedTuple):
    """An instruction as a model wrote it, and what it said of it."""

    text: str
    dimension: str = ""
    attributes: tuple[str, ...] = ()


def instruction_request(dimension: bool = False, added: bool = False) -> str:
    """What tells a model how to write down an instruction, and where it is to choose its dimension
    or only to add attributes."""
    entry: dict[str, object] = {"dimension": "..."} if dimension else {}
    entry |= {"attributes": ["...", "..."], "instruction": "..."}
    named = "the name of the dimension as it is given above, " if dimension else ""
    which = "the attributes that you added" if added else "the attributes"
    return (
        f"Reply with one JSON object and nothing else, in this form:\n{json.dumps(entry)}\n"
        f"It holds {named}{which} in a few words each, and the instruction."
    )


def dimension_request() -> str:
    """What tells a model how to name the dimension of an instruction."""
    return (
        "Reply with one JSON object and nothing else, in this form:\n"
        '{"dimension": "..."}\nIt holds the name of the dimension as it is given above.'
    )


def read_name(text: str, names: Sequence[str]) -> str | None:
    """The one of some names that a reply gives; none where it gives none, or several."""
    said = plain(text[: 10 * LONGEST])
    found = [name for name in names if plain(name) in said]
    return found[0] if len(found) == 1 else None


_FENCE = re.compile(r"^[ \t]*```[A-Za-z]*[ \t\r]*$", re.MULTILINE)
_NUMBERED = re.compile(r"^1[.)]\s+")
_COUNTED = re.compile(r"\W*(?:word count|words|字数|[0-9]+ words)\b", re.IGNORECASE)
_QUOTED = re.compile(r"\s*(?:[\"“「『>]|\*\*|__)[\s\S]+?(?:[\"”」』]|\*\*|__|(?<=\.))\s*")


def read_instruction(text: str) -> Instruction | None:
    """The one instruction in a reply; none where there is none, or more than one."""
    found = [made for value in objects(text) for made in _instructions(value, 0)]
    if not found:
        found = _instruction_lines(text)
    if not found:
        found = [Instruction(words) for words in _paragraphs(text)]
    return found[0] if found and len({plain(made.text) for made in found}) == 1 else None


def _instructions(value: Any, depth: int) -> Iterator[Instruction]:
    if isinstance(value, list) and depth <= DEEPEST:
        for inner in value:
            yield from _instructions(inner, depth + 1)
    if not isinstance(value, dict) or depth > DEEPEST:
        return
    fields = {slot: inner for key, inner in value.items() if (slot := slot_of(key))}
    text = fields.get("instruction")
    if isinstance(text, str) and one_line(text):
        yield Instruction(
            _unquoted(text), _named(fields.get("dimension")), _listed(fields.get("attributes"))
        )
        return
    for inner in value.values():
        yield from _instructions(inner, depth + 1)


def _named(value: object) -> str:
    return one_line(value.strip(MARKUP + ".,")) if isinstance(value, str) else ""


def _listed(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[;；、]", value)
    if not isinstance(value, list):
        return ()
    return tuple(words for part in value if isinstance(part, str) if (words := one_line(part)))


def _unquoted(text: str) -> str:
    """Without quotes around the whole, a number before it, or a quote that closes nothing."""
    words = _NUMBERED.sub("", one_line(text))
    for opening, closing in ('""', "“”", "「」"):
        inner = words.rstrip(",").removeprefix(opening).removesuffix(closing)
        if len(words) - len(inner) >= 1 and opening not in inner and closing not in inner:
            return inner.strip()
    return words


def _instruction_lines(text: str) -> list[Instruction]:
    """What stands behind `Instruction:`, or below it."""
    found: list[Instruction] = []
    dimension, waiting = "", False
    attributes: tuple[str, ...] = ()
    for line in text.splitlines():
        field = FIELD.match(line) if len(line) <= 2 * LONGEST else None
        slot = slot_of(field[1]) if field else None
        if field and slot == "instruction":
            waiting = not field[2].strip(MARKUP)
            if not waiting:
                found.append(Instruction(_unquoted(field[2])))
        elif field and slot == "dimension":
            dimension = _named(field[2])
        elif field and slot == "attributes":
            attributes = _listed(field[2])
        elif waiting and line.strip(MARKUP):
            found.append(Instruction(_unquoted(line.strip(" \t>"))))
            waiting = False
    return [made._replace(dimension=dimension, attributes=attributes) for made in found]


def _paragraphs(text: str) -> Sequence[str]:
    """The paragraphs that can be an instruction: those set off, or all that lead to nothing."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", _FENCE.sub("", text[: 10 * LONGEST]))]
    parts = [part for part in parts if part and not part.endswith((":", "：")) and "{" not in part]
    parts = [part for part in parts if not _COUNTED.match(part)]
    marked = [part for part in parts if _QUOTED.fullmatch(part)]
    words = [_unquoted(part.lstrip("> ")) for part in (marked or parts)]
    return [part for part in words if part]
