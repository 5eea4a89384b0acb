"""Texts that an instruction asks to add to an image or remove from it, and the error rate of recognised text.

A text in quotation marks is used if its clause mentions text or writing, introduces something that a character says, or
names a printed object.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections import deque
from typing import NamedTuple

from creval.core.text_cache import cache_by_text

_QUOTED = re.compile(
    '“([^“”]{1,200})”|“([^“”"]{1,200})"|"([^"]{1,200})"|«([^«»]{1,200})»|「([^「」]{1,200})」'
    "|『([^『』]{1,200})』|‘((?:[^‘’]|(?<=\\w)’(?=\\w)){1,200})’"
    "|(?<!\\w)'((?:[^']|(?<=\\w)'(?=\\w)){1,200})'(?!\\w)|`([^`]{1,200})`"
)
_PLACEHOLDER = re.compile(r"\{\{[^{]*\}\}|^[{\[<].*[}\]>]$", re.DOTALL)
_MENTIONS_TEXT = re.compile(
    r"\b(?:texts?|words?|wording|letter(?:s|ing)?|captions?|(?:en)?titl\w+|subtitles?|slogans?"
    r"|signs?|label(?:s|l?ed|l?ing)?|reads?|reading|says?|saying|writ\w+|inscri\w+|print\w*"
    r"|engrav\w*|emboss\w*|logos?|bubbles?|watermarks?|typograph\w*|fonts?|headlines?|banners?"
    r"|phrases?|messages?|(?:user|nick)?names?|spell\w*|poems?|speech|dialog(?:ue)?s?"
    r"|sound effects?)\b",
    re.IGNORECASE,
)
_INTRODUCES_TEXT = re.compile(
    r"\b(?:scene|panel) \d+[\s:*-]*$"
    r"|\b(?:brand|packag\w+|box|event|festival|exhibition|poster|flyer|brochure|cover|\w*book"
    r"|magazine|album|advert\w*|infographic|menu|film|movie)\b"
    r"(?:(?!\b(?:character|mascot|hero)\b).){0,120}\b(?:called|named|for)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_REMOVAL = (
    r"\b(?:remov\w+|eras\w+|delet\w+|get(?:ting)? rid of|clear(?:ing)? (?:away|off)|wip\w+"
    r"|eliminat\w+|take (?:out|away|off)|without)\b"
)
_NEGATION = r"\b(?:not|\w+n['’]t|never|without|avoid(?:ing)?)\s+(?:\w+\s+){0,3}?"
_PRESERVATION = (
    rf"{_NEGATION}(?:touch|alter|chang|modif|edit|affect|mov|cover|obscur|hid|blur|distort|damag|replac"
    r"|remov|eras|delet|los)\w*|\b(?:keep\w*|leave|leaving|preserv\w+|retain\w*|maintain\w*)\b"
)
_TEXT_NOUN = r"\b(?:texts?|words?|letter(?:s|ing)|captions?|watermarks?|writing|inscriptions?|subtitles?)\b"
_TEXT_OPERATION = re.compile(
    rf"(?P<spared>{_PRESERVATION})"
    rf"|(?P<barred>{_NEGATION}(?:add|writ|put|plac|insert|includ|print|us(?=e|ing)|draw|repeat)\w*)"
    rf"|(?P<removed>{_NEGATION}(?:say|read|show|contain)\w*|\bno longer\b|{_REMOVAL}"
    r"|\b(?:instead of|rather than|in place of|translat\w+)\b)"
    r"|(?P<added>\b(?:add|adding|writ(?:e|ing)|put|putting|plac(?:e|ing)|insert|inserting)\b)",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"\b(?:replac\w+|chang\w+|swap\w*|substitut\w+|turn\w*|modif\w+|edit\w*|alter\w*|updat\w+"
    r"|convert\w*|from)\b",
    re.IGNORECASE,
)
_REPLACEMENT_LINK = re.compile(r"^[\s,]*(?:\w+\s+){0,6}?(?:with|to|into|by|for|as)\b", re.IGNORECASE)
_ALL_TEXT = re.compile(rf"{_REMOVAL}[^.!?\n]{{0,80}}?{_TEXT_NOUN}", re.IGNORECASE)
_SPARED_TEXT = re.compile(rf"(?:{_PRESERVATION})(?:(?!{_REMOVAL})[^.,;!?\n]){{0,40}}?{_TEXT_NOUN}", re.IGNORECASE)
_ADDS = re.compile(r"\b(?:add\w*|plac\w+|put(?:ting)?|insert\w*)\s*$|\band\s*$", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|(?:,\s*)?\b(?:and|or|nor)\b|&)\s*(?:the\s+)?(?:(?:text|word)s?\s+)?", re.IGNORECASE)
_CLAUSE = re.compile(r"[.!?;\n]")
_MAX_READ_LENGTH = 5_000


class RequestedText(NamedTuple):
    """The texts that an edit should show, the texts that it should remove, and whether it should remove all text."""

    wanted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    all_removed: bool = False


@cache_by_text(1 << 22)
def find_requested_text(instruction: str) -> RequestedText:
    """Find the texts that an instruction asks to add or remove.

    >>> find_requested_text('Change the sign from "OPEN" to "CLOSED".')
    RequestedText(wanted=('CLOSED',), removed=('OPEN',), all_removed=False)
    """
    quotes = list(_QUOTED.finditer(instruction))
    # Blank out quoted texts: their punctuation does not end a clause, and their words do not describe one.
    open_ = _QUOTED.sub(lambda match: '"' * len(match[0]), instruction)
    ends = [end.start() for end in _CLAUSE.finditer(open_)]
    text_clauses = {bisect(ends, word.start()) for word in _MENTIONS_TEXT.finditer(open_)}
    found: dict[str, list[str]] = {"wanted": [], "removed": [], "neither": []}
    replacement_outcome = ""  # outcome of the next text, if it replaces this one
    is_text, operation = False, ""
    for at, quote in enumerate(quotes):
        text = next(part for part in quote.groups() if part is not None).strip().rstrip(",.;:")
        start = quotes[at - 1].end() if at else 0
        before = _CLAUSE.split(open_[start : quote.start()])[-1]
        added = _ADDS.search(before)
        is_text = bool(
            bisect(ends, quote.start()) in text_clauses
            or _INTRODUCES_TEXT.search(before)
            or (added and (is_text or added[0].strip() != "and"))
        )
        if not normalise_for_comparison(text) or _PLACEHOLDER.search(text) or not (is_text or replacement_outcome):
            continue
        if replacement_outcome and _REPLACEMENT_LINK.search(before):
            found[replacement_outcome].append(text)
            replacement_outcome = operation = ""
            continue
        following = quotes[at + 1].start() if at + 1 < len(quotes) else 0
        between = instruction[quote.end() : following]
        replaced = _REPLACES.search(before.rpartition(",")[2]) and following and _REPLACEMENT_LINK.search(between)
        if not _LISTED.fullmatch(open_, start, quote.start()):
            operation = _find_operation(before)
        replacement_outcome = ""
        if replaced:
            replacement_outcome = "neither" if operation == "spared" else "wanted"
        gone = operation == "removed" or (replaced and operation != "spared")
        found["neither" if operation == "barred" else "removed" if gone else "wanted"].append(text)
    everything = not quotes and bool(_ALL_TEXT.search(instruction)) and not _SPARED_TEXT.search(instruction)
    wanted, removed = (tuple(dict.fromkeys(found[name])) for name in ("wanted", "removed"))
    return RequestedText(wanted, removed, everything)


def _find_operation(before: str) -> str:
    """Return the last operation that the words before a quoted text name.

    It is `added`, `removed`, `spared` (the text stays), `barred` (the text must not be added), or empty.
    """
    last = deque(_TEXT_OPERATION.finditer(before), maxlen=1)
    return (last[0].lastgroup or "") if last else ""


def normalise_for_comparison(text: str) -> str:
    """Return a text for comparison: without spaces, invisible characters and differences of case and width."""
    letters = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")


def character_error_rate(wanted: str, read: str) -> float:
    """Return the share of wrong characters where a read text matches a wanted text best.

    0 is a perfect match, 1 means that the wanted text does not occur.

    >>> character_error_rate("OPEN", "we are 0pen today")
    0.25
    """
    one, other = normalise_for_comparison(wanted), normalise_for_comparison(read)[:_MAX_READ_LENGTH]
    if one in other:
        return 0.0
    # Levenshtein distance with a zero first row: the match may begin and end anywhere.
    row = [0] * (len(other) + 1)
    for at, letter in enumerate(one, 1):
        corner, row[0] = row[0], at
        for column, read_letter in enumerate(other, 1):
            above = row[column]
            row[column] = min(corner + (letter != read_letter), above + 1, row[column - 1] + 1)
            corner = above
    return min(row) / len(one)
