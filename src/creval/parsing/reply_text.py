"""The readable part of a reply: without thinking, and limited in length."""

from __future__ import annotations

import re

from creval.parsing.json_objects import JsonReader

MAX_REPLY_CHARS = 200_000
"""Limit of characters of a reply that are parsed."""
# As models write them: <think>, <thinking>, <thought>, [THINK], ◁think▷.
_TAG = r"[<\[◁]{slash}th(?:ink(?:ing)?|ought)[>\]▷]"
_TAG_OR_OBJECT = re.compile(_TAG.format(slash="(/?)") + r"|\{", re.IGNORECASE)
_END_TAG = re.compile(_TAG.format(slash="/"), re.IGNORECASE)
_ANY_TAG = re.compile(_TAG.format(slash="/?"), re.IGNORECASE)


def readable_text(text: str) -> str:
    """Return the part of a reply that is parsed: its first `MAX_REPLY_CHARS` characters, without thinking."""
    return strip_thinking(text[:MAX_REPLY_CHARS])


def strip_thinking(text: str) -> str:
    """Return a reply without thinking tags and their content. Some servers send only the opening or the closing tag.

    A tag inside a JSON object is part of the object's text.

    >>> strip_thinking("<think>No?</think>Yes"), strip_thinking("No?</think>Yes")
    ('Yes', 'Yes')
    """
    if not _ANY_TAG.search(text):
        return text
    reader, result, start, at = JsonReader(text), "", 0, 0
    while match := _TAG_OR_OBJECT.search(text, at):
        at = match.end()
        if match[0] == "{":
            found = None if reader.has_given_up else reader.decode(match.start())
            at = found[1] if found else at
        elif match[1]:
            result, start = "", at
        else:
            result += text[start : match.start()]
            end = _END_TAG.search(text, at)
            start = at = end.end() if end else len(text)
    return result + text[start:]
