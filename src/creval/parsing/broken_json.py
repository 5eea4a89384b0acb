"""Answers in JSON with slips: a comma missing, a quote unescaped or of another kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# A key stands behind a mark of JSON or begins a line: a word in a text that is quoted does not.
_KEY = re.compile(r"(?:[{\[,;\"'”’}\]]\s*|\n[^\S\n]*|\A\s*)[\"'“”]([A-Za-z][A-Za-z _]{0,20})[\"'“”]\s*[:：]\s*")
# An answer is taken only if it is closed, as `"No` may be the start of `"Not ...`, and if the value ends with it.
_COMPLETE_VALUE = re.compile(r"[\"'“‘]([^\"'“”‘’{}]*)[\"'”’](?=\s*(?:[,;}\]]|\n|\"\w|\Z))|([A-Za-z]+|[0-9]+)\s*[,;}\n]")


def iter_fields(broken: str, find_field: Callable[[str], str | None]) -> Iterator[tuple[str, str]]:
    """Yield the known fields of an object with the text of their values; the known keys cut it into values."""
    keys = [(match, field) for match in _KEY.finditer(broken) if (field := find_field(match[1]))]
    ends = [match.start(1) - 1 for match, _ in keys[1:]] + [len(broken)]
    for (match, field), end in zip(keys, ends, strict=False):
        yield field, broken[match.end() : end]


def complete_value(value: str) -> str | None:
    """Return an answer's value, or None if it does not end."""
    closed = _COMPLETE_VALUE.match(value)
    return (closed[1] or closed[2] or "") if closed else None
