"""Names on plots: escaped, shortened and wrapped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from creval.core.formatting import escape_control

_BREAKS = re.compile(r"(?<=[-_/ .:+])")
_MAX_WORD_CHARS = 30
INVALID_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters that are not allowed in XML."""


def escape_plot_text(text: str) -> str:
    """Escape text so that it is not read as a formula or control sequence, and is valid in XML."""
    return INVALID_XML.sub("\ufffd", escape_control(text)).replace("$", r"\$")


def shorten_middle(text: str, limit: int) -> str:
    """Shorten text to at most `limit` characters by removing its middle.

    >>> shorten_middle("a-model-with-a-long-name-v2", 15)
    'a-model-…ame-v2'
    """
    if len(text) <= limit:
        return text
    tail = (limit - 1) * 2 // 5
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def wrap_label(text: str, width: int, lines: int = 2) -> str:
    """Wrap text into at most `lines` lines of `width` characters, at the ends of words or parts of a name."""
    found = [""]
    for part in _BREAKS.split(shorten_middle(escape_control(text), width * lines)):
        while len(found[-1]) + len(part.rstrip()) > width:
            if found[-1]:
                found.append("")
            else:
                found[-1], part = part[:width], part[width:]
        found[-1] += part
    if len(found) > lines:  # too few places to break at
        flat = shorten_middle(escape_control(text), width * lines)
        found = [flat[at : at + width] for at in range(0, len(flat), width)]
    return "\n".join(escape_plot_text(line.rstrip()) for line in found)


def wrap_words(text: str, width: int, lines: int) -> str:
    """Wrap text into at most `lines` lines of about `width` characters, never inside a word.

    Lines become wider if needed for the longest word or for the number of lines. Only words too long for any plot
    are shortened.

    >>> wrap_words("Contextualization", 16, 3)
    'Contextualization'
    """
    words = [shorten_middle(word, _MAX_WORD_CHARS) for word in escape_control(text).split()]
    found: list[str] = []
    for room in range(max([width, *map(len, words)]), _MAX_WORD_CHARS * len(words) + 1):
        found = [""]
        for word in words:
            if found[-1] and len(found[-1]) + 1 + len(word) > room:
                found.append("")
            found[-1] = f"{found[-1]} {word}".lstrip()
        if len(found) <= lines:
            break
    return "\n".join(map(escape_plot_text, found))


def model_labels(models: Iterable[str], width: int = 30, lines: int = 1) -> dict[str, str]:
    """Return unique, short and escaped labels of models."""
    found: dict[str, str] = {}
    for model in models:
        shown, count = wrap_label(model, width, lines), 1
        while shown in found.values():
            count += 1
            shown = f"{wrap_label(model, width - 4, lines)} ({count})"
        found[model] = shown
    return found
