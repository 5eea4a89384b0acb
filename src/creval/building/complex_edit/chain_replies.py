"""Formats and parsers of the replies from which Complex-Edit's chains are built.

For each kind of reply, there is the format that the model is asked for and a parser. The parsers accept other common
formats too. A reply with two different values for one field is ambiguous and not accepted.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from creval.benchmarks.complex_edit.atomic_operations import OPERATIONS, match_operation
from creval.parsing.labels import MAX_LINE_CHARS, labelled_lines, strip_markup
from creval.parsing.records import parse_records, parse_yes_no, single_value
from creval.parsing.reply_format import TEXT, YES_NO, ReplyFormat, choice_schema, list_schema, object_schema

_NUMBERED = re.compile(r"[\s>*#_-]{0,12}([0-9]{1,2})\s{0,4}[.)、:：]\s{0,4}(\S.*)")
_NAMED = re.compile(r"[\s*_\"“]{0,8}([^:：\]\)】\"”—–*-]{3,40}?)[\s*_\"”]{0,8}[:：—–-][\s*_]{0,8}([^\s*_].*)")
_BRACKETED = re.compile(r"[\s*_]{0,8}[\[(【]([^\])】]{3,40})[\])】][\s*_:：—–-]{0,8}([^\s*_:：—–-].*)")
_BECAUSE = re.compile(r"[(（](?:because|reason|rationale)[:：]?\s(.*)[)）][\s*_.]*", re.IGNORECASE)


class AtomicInstruction(NamedTuple):
    """One atomic instruction of a reply: its operation, its text, and the reason for choosing it."""

    operation: str
    instruction: str
    reason: str = ""


SEQUENCE_FORMAT = ReplyFormat(
    "Think first, in a few sentences. Then give the sequence as a JSON array, in its order: "
    '[{"operation": "a name from the list", "instruction": "...", "reason": "..."}, ...]',
    object_schema(
        thinking=TEXT, sequence=list_schema(operation=choice_schema(OPERATIONS), instruction=TEXT, reason=TEXT)
    ),
)


def read_sequence(text: str) -> list[AtomicInstruction]:
    """Return a reply's atomic instructions, in their order, without those whose operation is unknown."""
    found = [
        AtomicInstruction(name, record["instruction"], record.get("reason", ""))
        for record in parse_records(text)
        if record.get("instruction") and (name := match_operation(record.get("operation", "")))
    ]
    return found or _read_numbered_list(text)


def _read_numbered_list(text: str) -> list[AtomicInstruction]:
    """Read a numbered list: `3. **Change Color**: Make the door red. (Because ...)`."""
    lines = [line for each in text.splitlines() if (line := _NUMBERED.match(each[:MAX_LINE_CHARS]))]
    found: list[tuple[str, AtomicInstruction]] = []
    for line, (_, name, value) in zip(
        lines, labelled_lines((line[2] for line in lines), match_operation, _BRACKETED, _NAMED), strict=True
    ):
        words, reason = (strip_markup(part, quotes=True) for part in _split_reason(value))
        if name and words:
            found.append((line[1], AtomicInstruction(name, words, reason)))
    # Repeated numbers mean a second draft. It is unclear which draft is meant.
    numbers = {int(number) for number, _ in found}
    return [atomic for _, atomic in found] if len(numbers) == len(found) else []


def _split_reason(text: str) -> tuple[str, str]:
    """Separate an instruction from the reason in brackets that follows it."""
    at = max(text.rfind("("), text.rfind("（"))
    match = _BECAUSE.fullmatch(text, at) if at > 0 else None
    return (text[:at], match[1]) if match else (text, "")


SIMPLIFY_FORMAT = ReplyFormat(
    'Answer with JSON: {"needed": "yes" or "no", "instruction": "the shorter instruction, or '
    'nothing where none is needed"}',
    object_schema(needed=YES_NO, instruction=TEXT),
)


def read_simplified(text: str) -> str | None:
    """Return the shorter instruction of a reply, "" if none is needed, or None if the reply is unclear."""
    found = parse_records(text)
    needed = {parse_yes_no(record["needed"]) for record in found if record.get("needed")}
    instruction = single_value(found, "instruction")
    if needed == {True} and instruction:
        return instruction
    plain_no = not found and re.fullmatch(r"\W*no\b[^\n]{0,60}", text.strip(), re.IGNORECASE)
    return "" if needed == {False} or plain_no else None


class CompoundInstruction(NamedTuple):
    """Several atomic instructions merged into one, and the model's reasoning."""

    instruction: str
    reason: str = ""


COMPOUND_FORMAT = ReplyFormat(
    'Answer with JSON, the thinking first: {"reasoning": "...", "instruction": "the one instruction"}',
    object_schema(reasoning=TEXT, instruction=TEXT),
)


def read_compound(text: str) -> CompoundInstruction | None:
    """Return the instruction of a reply, or None if there is none or more than one."""
    found = parse_records(text)
    instruction = single_value(found, "instruction")
    return CompoundInstruction(instruction, single_value(found, "reason")) if instruction else None
