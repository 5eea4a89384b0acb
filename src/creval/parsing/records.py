"""Parsing of records (groups of fields) in a model's reply: JSON, labelled lines or lists.

Missing fields are not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from creval.parsing.json_objects import iter_json_objects
from creval.parsing.labels import MAX_LINE_CHARS, FieldAliases, labelled_lines, strip_markup

_MAX_DEPTH = 8
# A label and its value on the same line: `**Instruction:** ...`, `2. "old"：“cat”，`.
_LABELLED_LINE = re.compile(
    r"[\s>*#_\"'“”{-]{0,12}(?:[0-9]{1,2}[.)、:：]\s{0,4})?[\s*_\"'“”]{0,8}"
    r"([A-Za-z][A-Za-z ]{0,29}?)[\s*_\"'“”]{0,8}[:：](.*)"
)
_QUOTED_FIELD = re.compile(r"[\"“']([A-Za-z][A-Za-z_ ]{0,29})[\"”']\s{0,4}[:：]\s{0,4}[\"“]([^\"“”\n]*)[\"”]")
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’*_)]{0,3}\s*")

Record = dict[str, str]
_FIELDS = FieldAliases(
    operation="operation name type operationname operationtype",
    instruction="instruction text edit simplified shorter compound finalinstruction compoundinstruction "
    "simplifiedinstruction shorterinstruction editinstruction",
    reason="reason reasoning rationale why explanation thinking",
    needed="needed isneeded simplificationneeded neededornot",
    old="old oldobject oriobj object",
    new="new newobject newobj",
    scene="scene",
    reference="reference",
    conflict="conflict conflicts",
    number="number step id",
    caption="caption description sourcecaption targetcaption",
    unsuited="unsuited unsuitable doesnotsuit",
)


def parse_records(text: str) -> list[Record]:
    """Return the known fields of all records in a reply, from JSON if possible, else from labelled lines."""
    found: list[Record] = []
    for value in iter_json_objects(text, lists=True):
        _collect_records(value, "", 0, found)
    return found or _quoted_records(text) or _labelled_records(text)


def _collect_records(value: Any, number: str, depth: int, into: list[Record]) -> None:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for inner in value:
            _collect_records(inner, "", depth + 1, into)
    elif isinstance(value, dict):
        found: Record = {"number": number} if number else {}
        for key, inner in value.items():
            slot = _FIELDS.find(str(key))
            if slot and isinstance(inner, str | bool | int):
                said = {True: "yes", False: "no"}[inner] if isinstance(inner, bool) else str(inner)
                found.setdefault(slot, strip_markup(said, quotes=True))
            elif isinstance(inner, dict | list):
                digits = re.fullmatch(r"\D{0,15}([0-9]{1,2})", str(key))
                _collect_records(inner, digits[1] if digits else "", depth + 1, into)
        if found.keys() - {"number"}:
            into.append(found)


def _group_fields(pairs: Iterator[tuple[str, str]]) -> list[Record]:
    """Group fields into records, in order. A field that the current record already has starts the next record."""
    found: list[Record] = []
    for slot, value in pairs:
        if not found or slot in found[-1]:
            found.append({})
        found[-1][slot] = strip_markup(value, quotes=True)
    return found


def _quoted_records(text: str) -> list[Record]:
    """Parse quoted keys and values, as in malformed JSON or JSON with Chinese punctuation."""
    pairs = ((_FIELDS.find(match[1]), match[2]) for match in _QUOTED_FIELD.finditer(text))
    return _group_fields((slot, value) for slot, value in pairs if slot)


def _labelled_records(text: str) -> list[Record]:
    def pairs() -> Iterator[tuple[str, str]]:
        open_slot, parts, has_words = "", list[str](), False
        lines = (line[:MAX_LINE_CHARS] for line in text.splitlines())
        for line, slot, value in labelled_lines(lines, _FIELDS.find, _LABELLED_LINE):
            if slot:
                if open_slot:
                    yield open_slot, " ".join(parts)
                open_slot, parts, has_words = slot, [value], bool(strip_markup(value, quotes=True))
            elif not line.strip():
                if open_slot and has_words:
                    yield open_slot, " ".join(parts)
                    open_slot = ""
            elif open_slot and not _SENTENCE_END.search(parts[-1][-8:]):
                parts.append(line)
                has_words = has_words or bool(strip_markup(line, quotes=True))
        if open_slot:
            yield open_slot, " ".join(parts)

    return [found for found in _group_fields(pairs()) if any(found.values())]


def single_value(records: Sequence[Record], field: str) -> str:
    """Return the value of a field if all records that have the field agree on it. Otherwise return an empty text."""
    values = {record[field] for record in records if record.get(field)}
    return values.pop() if len(values) == 1 else ""


def parse_yes_no(text: str) -> bool | None:
    """Return True if a text starts with the word yes, False if it starts with no, and None otherwise."""
    match = re.match(r"\W*(yes|true|ok|no|not|false|none)\b", text, re.IGNORECASE)
    return match[1].casefold() in ("yes", "true", "ok") if match else None
