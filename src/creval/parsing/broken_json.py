"""Extraction of fields from malformed JSON: a missing comma, an unescaped quote, typographic quotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# A key follows JSON punctuation or starts a line. A quoted word inside a text does not.
_KEY = re.compile(r"(?:[{\[,;\"'”’}\]]\s*|\n[^\S\n]*|\A\s*)[\"'“”]([A-Za-z][A-Za-z _]{0,20})[\"'“”]\s*[:：]\s*")
# An answer counts only if its quote is closed, since `"No` may be the start of `"Not ...`, and if the value ends there.
_COMPLETE_VALUE = re.compile(r"[\"'“‘]([^\"'“”‘’{}]*)[\"'”’](?=\s*(?:[,;}\]]|\n|\"\w|\Z))|([A-Za-z]+|[0-9]+)\s*[,;}\n]")


def iter_fields(broken: str, find_field: Callable[[str], str | None]) -> Iterator[tuple[str, str]]:
    """Yield the known fields of a malformed object, with the text of each value. A value ends at the next known key."""
    keys = [(match, field) for match in _KEY.finditer(broken) if (field := find_field(match[1]))]
    ends = [match.start(1) - 1 for match, _ in keys[1:]] + [len(broken)]
    for (match, field), end in zip(keys, ends, strict=False):
        yield field, broken[match.end() : end]


def complete_value(value: str) -> str | None:
    """Return the value of an answer without quotes, or None if its end is missing."""
    closed = _COMPLETE_VALUE.match(value)
    return (closed[1] or closed[2] or "") if closed else None
