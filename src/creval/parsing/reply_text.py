"""The part of a reply that is read: not too long, and without what a model thought first."""

from __future__ import annotations

import re

from creval.parsing.json_objects import JsonReader

MAX_REPLY_CHARS = 200_000
"""Characters of a reply that are read."""
_TAG_OR_OBJECT = re.compile(r"<(/?)think(?:ing)?>|\{")
_END_TAG = re.compile(r"</think(?:ing)?>")


def readable_text(text: str) -> str:
    """Return what is read of a reply."""
    return strip_thinking(text[:MAX_REPLY_CHARS])


def strip_thinking(text: str) -> str:
    """Return a reply without thoughts. Some servers send the beginning of them only, some the end.

    A tag inside a JSON object is a word of it.

    >>> strip_thinking("<think>No?</think>Yes"), strip_thinking("No?</think>Yes")
    ('Yes', 'Yes')
    """
    if "think" not in text:
        return text
    reader, kept, start, at = JsonReader(text), "", 0, 0
    while match := _TAG_OR_OBJECT.search(text, at):
        at = match.end()
        if match[0] == "{":
            found = None if reader.has_given_up else reader.decode(match.start())
            at = found[1] if found else at
        elif match[1]:
            kept, start = "", at
        else:
            kept += text[start : match.start()]
            end = _END_TAG.search(text, at)
            start = at = end.end() if end else len(text)
    return kept + text[start:]
