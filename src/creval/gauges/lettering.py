"""Which texts an instruction wants in a picture, or out of it, and how far they can be read.

Texts stand in quotation marks, in a clause that speaks of text or of writing it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_QUOTED = re.compile(
    '“([^”]{1,200})”|"([^"]{1,200})"|«([^»]{1,200})»|「([^」]{1,200})」|『([^』]{1,200})』'
    "|‘((?:[^’]|(?<=\\w)’(?=\\w)){1,200})’|(?<!\\w)'((?:[^']|(?<=\\w)'(?=\\w)){1,200})'(?!\\w)"
    "|`([^`]{1,200})`"
)
_SPEAKS = re.compile(
    r"\b(?:texts?|words?|wording|letter(?:s|ing)?|captions?|titl\w+|subtitles?|slogans?|signs?"
    r"|labels?|reads?|reading|says?|saying|writ\w+|inscri\w+|print\w*|engrav\w*|logos?|bubbles?"
    r"|watermarks?|typograph\w*|fonts?|headlines?|banners?|phrases?|messages?|names?|spell\w*)\b",
    re.IGNORECASE,
)
_TAKING = (
    r"\b(?:remov\w+|eras\w+|delet\w+|get(?:ting)? rid of|clear(?:ing)? (?:away|off)|wip\w+"
    r"|eliminat\w+|take (?:out|away|off)|without)\b"
)
_REMOVES = re.compile(_TAKING, re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:replac\w+|chang\w+|swap\w*|substitut\w+|turn\w*|modif\w+|edit\w*|alter\w*|updat\w+"
    r"|convert\w*|from)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"^[\s,]*(?:\w+\s+){0,6}?(?:with|to|into|by|for|as)\b", re.IGNORECASE)
_ALL_TEXT = re.compile(
    _TAKING + r"[^.!?\n]{0,80}?\b(?:texts?|words?|letter(?:s|ing)|captions?|watermarks?|writing"
    r"|inscriptions?|subtitles?)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:add\w*|plac\w+|put(?:ting)?|insert\w*)\s*$|\band\s*$", re.IGNORECASE)
_CLAUSE = re.compile(r"[.!?;\n]")
_LONGEST_READ = 5_000


class Lettering(NamedTuple):
    """Texts that are to be there, texts that are to be gone, and whether all text is to go."""

    wanted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    all_removed: bool = False


def lettering(instruction: str) -> Lettering:
    """What an instruction says about text.

    >>> lettering('Change the sign from "OPEN" to "CLOSED".')
    Lettering(wanted=('CLOSED',), removed=('OPEN',), all_removed=False)
    """
    quotes = list(_QUOTED.finditer(instruction))
    # What is quoted does not end a clause.
    open_ = _QUOTED.sub(lambda match: "x" * len(match[0]), instruction)
    wanted: list[str] = []
    removed: list[str] = []
    replaced = spoken = False
    for at, quote in enumerate(quotes):
        text = next(part for part in quote.groups() if part is not None).strip().rstrip(",.;:")
        start = quotes[at - 1].end() if at else 0
        before = _CLAUSE.split(open_[start : quote.start()])[-1]
        clause = _CLAUSE.split(open_[: quote.start()])[-1] + _CLAUSE.split(open_[quote.end() :])[0]
        added = _ADDS.search(before)
        spoken = bool(_SPEAKS.search(clause) or (added and (spoken or added[0].strip() != "and")))
        if not text or not (spoken or replaced):
            continue
        if replaced and _BY.search(before):
            wanted.append(text)
            replaced = False
            continue
        following = quotes[at + 1].start() if at + 1 < len(quotes) else 0
        between = instruction[quote.end() : following]
        replaced = bool(
            _REPLACES.search(before.rpartition(",")[2]) and following and _BY.search(between)
        )
        (removed if replaced or _REMOVES.search(before) else wanted).append(text)
    everything = not quotes and bool(_ALL_TEXT.search(instruction))
    return Lettering(tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(removed)), everything)


def plain(text: str) -> str:
    """A text as it is compared: without spaces, case, or the width of letters."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def error_rate(wanted: str, read: str) -> float:
    """The share of a text's characters that are wrong where it is best read: 0 is all right, 1 is
    nothing there.

    >>> error_rate("OPEN", "we are 0pen today")
    0.25
    """
    one, other = plain(wanted), plain(read)[:_LONGEST_READ]
    if not one:
        return 0.0
    if one in other:
        return 0.0
    # Levenshtein's table, whose first row is zero: the text may begin anywhere, and end anywhere.
    row = [0] * (len(other) + 1)
    for at, letter in enumerate(one, 1):
        corner, row[0] = row[0], at
        for across, there in enumerate(other, 1):
            above = row[across]
            row[across] = min(corner + (letter != there), above + 1, row[across - 1] + 1)
            corner = above
    return min(row) / len(one)
