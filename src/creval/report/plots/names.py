"""Names on a plot: harmless, short enough, and in lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from creval.core.formatting import visible

_BREAKS = re.compile(r"(?<=[-_/ .:+])")
NO_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""What no file of XML may hold."""


def harmless(text: str) -> str:
    """Text as it is: nothing in it is a formula, a command, or unfit for a file."""
    return NO_XML.sub("\ufffd", visible(text)).replace("$", r"\$")


def shortened(text: str, most: int) -> str:
    """Text of at most so many characters: what is too long loses its middle.

    >>> shortened("a-model-with-a-long-name-v2", 15)
    'a-model-…ame-v2'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) * 2 // 5
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def wrapped(text: str, wide: int, lines: int = 2) -> str:
    """Text in lines of so many characters, broken where words or parts of a name end."""
    found = [""]
    for part in _BREAKS.split(shortened(visible(text), wide * lines)):
        while len(found[-1]) + len(part.rstrip()) > wide:
            if found[-1]:
                found.append("")
            else:
                found[-1], part = part[:wide], part[wide:]
        found[-1] += part
    if len(found) > lines:  # breaks that are far apart take more room
        flat = shortened(visible(text), wide * lines)
        found = [flat[at : at + wide] for at in range(0, len(flat), wide)]
    return "\n".join(harmless(line.rstrip()) for line in found)


def names(systems: Iterable[str], wide: int = 30, lines: int = 1) -> dict[str, str]:
    """Models' names as they stand on a plot: short, harmless, and no two alike."""
    found: dict[str, str] = {}
    for system in systems:
        shown, count = wrapped(system, wide, lines), 1
        while shown in found.values():
            count += 1
            shown = f"{wrapped(system, wide - 4, lines)} ({count})"
        found[system] = shown
    return found
