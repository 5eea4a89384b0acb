"""Checks of a text by rules, without a model: words, script, quotes, damage, refusals."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
WIDE_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_QUOTED = re.compile(
    r"\"([^\"]{1,200})\"|“([^“”]{1,200})”|「([^「」]{1,200})」|‘([^‘’]{1,200})’|"
    r"(?<!\w)'([^']{1,200})'(?!\w)"
)
_BROKEN_CHARACTER = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd"
    r"\ud800-\udfff\ue000-\uf8ff\ufff0-\ufff8\ufffe\uffff]|"
    r"Ã[\x80-\xbf©¨¤¶¼]|â€|Â[\x80-\xbf°·»«]|ï»¿|\?{3,}"
)
_REPEATED = re.compile(r"\b(\w+)(?:\W+\1\b){2,}|([^\d.\s])\2{5,}", re.IGNORECASE)
_MAX_WORD_CHARS = 30
_OVERLONG_WORD = re.compile(rf"[A-Za-z\u00c0-\u024f]{{{_MAX_WORD_CHARS + 1},}}")
_LEFTOVER_MARKUP = re.compile(
    r"\{[\"'{]|\}\}|```|\*\*|</?\w[^<>]{0,100}>|<\|\w+\|>|\\[nut]|[\"']\s*:\s*[\"']|\[\[|"
    r"&\w{2,6};|\[(?:insert|object|name)\b",
    re.IGNORECASE,
)
_REFUSAL = (
    r"\b(?:i(?:['’]?m| am) (?:very |really |so )?(?:sorry|unable|not able)|"
    r"i (?:cannot|can['’]?t|won['’]?t|will not|must decline)|as an ai)\b"
)
_CONTAINS_REFUSAL = re.compile(_REFUSAL, re.IGNORECASE)
_STARTS_WITH_REFUSAL = re.compile(rf"\W*(?:{_REFUSAL}|sorry\b|unfortunately, i\b|抱歉|对不起|我无法)", re.IGNORECASE)


def text_digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def count_words(text: str) -> int:
    """Count the words of a text. In scripts without spaces, two characters count as one word."""
    wide = len(WIDE_CHARACTER.findall(text))
    return len(WORD.findall(WIDE_CHARACTER.sub(" ", text))) + (wide + 1) // 2


def dominant_script(text: str) -> str:
    """Return the most frequent script of a text's letters, such as LATIN; empty if it has no letters."""
    names = Counter(unicodedata.name(letter, "?").split()[0] for letter in text[:2000] if letter.isalpha())
    return names.most_common(1)[0][0] if names else ""


def find_quotes(text: str) -> list[str]:
    """Return the texts in quotation marks."""
    return [next(filter(None, match)) for match in _QUOTED.findall(text)]


def remove_quotes(text: str) -> str:
    """Return a text without quotations, since quoted words may be in any language and may be questions."""
    return _QUOTED.sub(" ", text)


def damage_reason(text: str) -> str:
    """Return a description of a text's damage. Empty if there is none.

    An example of damage is repetition, which models produce at a high temperature.

    >>> damage_reason("Add a red red red kite."), damage_reason("Add a red kite.")
    ('something is repeated over and over', '')
    """
    if _BROKEN_CHARACTER.search(text):
        return "it contains invisible or damaged characters"
    bare = remove_quotes(text)
    if _OVERLONG_WORD.search(bare):
        return f"a word is longer than {_MAX_WORD_CHARS} letters"
    return "something is repeated over and over" if _REPEATED.search(bare) else ""


def leftover_markup_reason(text: str) -> str:
    """Return a description of leftover markup in a text; empty if there is none."""
    return "it contains markup (JSON, HTML, Markdown)" if _LEFTOVER_MARKUP.search(text) else ""


def is_refusal(reply: str) -> bool:
    """Return whether a reply starts with a refusal."""
    return bool(_STARTS_WITH_REFUSAL.match(reply))


def contains_refusal(text: str) -> bool:
    """Return whether a text contains a refusal anywhere outside of quotations."""
    return bool(_CONTAINS_REFUSAL.search(remove_quotes(text)))
