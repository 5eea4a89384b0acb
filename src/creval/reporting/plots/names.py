"""Names on a plot: harmless, short enough, and in lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from creval.core.formatting import escape_control

_BREAKS = re.compile(r"(?<=[-_/ .:+])")
_MAX_WORD_CHARS = 30
INVALID_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""What no file of XML may hold."""


def escape_plot_text(text: str) -> str:
    """Text as it is: nothing in it is a formula, a command, or unfit for a file."""
    return INVALID_XML.sub("\ufffd", escape_control(text)).replace("$", r"\$")


def shorten_middle(text: str, limit: int) -> str:
    """Text of at most so many characters: what is too long loses its middle.

    >>> shorten_middle("a-model-with-a-long-name-v2", 15)
    'a-model-…ame-v2'
    """
    if len(text) <= limit:
        return text
    tail = (limit - 1) * 2 // 5
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def wrap_label(text: str, width: int, lines: int = 2) -> str:
    """Text in lines of so many characters, broken where words or parts of a name end."""
    found = [""]
    for part in _BREAKS.split(shorten_middle(escape_control(text), width * lines)):
        while len(found[-1]) + len(part.rstrip()) > width:
            if found[-1]:
                found.append("")
            else:
                found[-1], part = part[:width], part[width:]
        found[-1] += part
    if len(found) > lines:  # breaks that are far apart take more room
        flat = shorten_middle(escape_control(text), width * lines)
        found = [flat[at : at + width] for at in range(0, len(flat), width)]
    return "\n".join(escape_plot_text(line.rstrip()) for line in found)


def wrap_words(text: str, width: int, lines: int) -> str:
    """Text in lines of about so many characters, never broken inside a word.

    Lines grow with the longest word, and so that all fits in so many lines; only a word that no plot has room for is
    shortened.

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
    """Models' names as they stand on a plot: short, harmless, and no two alike."""
    found: dict[str, str] = {}
    for model in models:
        shown, count = wrap_label(model, width, lines), 1
        while shown in found.values():
            count += 1
            shown = f"{wrap_label(model, width - 4, lines)} ({count})"
        found[model] = shown
    return found
