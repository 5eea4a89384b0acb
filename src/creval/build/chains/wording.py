"""Rules that an instruction must keep, each with a name: what breaks one is asked for again.

Models at high temperature write sentences that fall apart half way; these rules find them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

_QUOTES = re.compile(
    r"\"([^\"]{1,200})\"|“([^”]{1,200})”|‘([^’]{1,200})’|(?<!\w)'([^']{1,200})'(?!\w)"
)
_REPEATED = re.compile(r"(\S)\1{5,}")
_AGAIN = re.compile(r"\b(\w+)(?:\W+\1\b){2,}", re.IGNORECASE)
_MARKUP = re.compile(r"```|</?\w+[^>]{0,80}>|\\[nut]|\{[\"'{]|[\"']\s*:\s*[\"']|\[\[|&\w{2,6};")
_STEPS = re.compile(r"(?:^|\s)(?:step\s+)?[1-9][.):]\s|^\s*[-*•]\s", re.IGNORECASE)
_DECLINED = re.compile(
    r"\b(?:as an ai|i(?:'m| am) (?:sorry|unable)|i (?:can(?:no|')t|will not|won't))\b",
    re.IGNORECASE,
)
_LONGEST_WORD = 30
_LATIN = 0.9
Rule = Callable[[str], str]


def quotes(text: str) -> list[str]:
    """The words in quotation marks."""
    return [next(filter(None, match)) for match in _QUOTES.findall(text)]


def garbled(text: str) -> str:
    """Text that fell apart: strange signs, endless words, mixed scripts, words that repeat."""
    if any(unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn", "Cs") for char in text):
        return "it holds signs that are no letters"
    if "\ufffd" in text or "??" in text:
        return "it holds signs that stand for no letter"
    bare = _QUOTES.sub(" ", text)
    if any(len(word) > _LONGEST_WORD for word in re.split(r"[\s/_-]+", bare)):
        return f"a word is longer than {_LONGEST_WORD} letters"
    if _REPEATED.search(bare) or _AGAIN.search(bare):
        return "something is repeated over and over"
    letters = [char for char in bare if char.isalpha()]
    if not letters:
        return "there are no words outside quotation marks"
    latin = sum("LATIN" in unicodedata.name(char, "") for char in letters)
    if latin < _LATIN * len(letters):
        return "it is not in English"
    if sum(char.isalnum() or char.isspace() for char in bare) < 0.8 * len(bare):
        return "it is more signs than words"
    return ""


def markup(text: str) -> str:
    """What is left of the form of a reply."""
    return "it holds marks of a format (JSON, HTML, Markdown)" if _MARKUP.search(text) else ""


def declined(text: str) -> str:
    return "it declines instead of instructing" if _DECLINED.search(text) else ""


def one_sentence_each(text: str) -> str:
    """A compound instruction is not a list."""
    return "it is a list of steps, not one instruction" if _STEPS.search(text) else ""


def length(fewest: int, most: int) -> Rule:
    def rule(text: str) -> str:
        words = len(text.split())
        if words < fewest:
            return f"it has {words} words; at least {fewest} are needed"
        return f"it has {words} words; at most {most} are allowed" if words > most else ""

    return rule


def keeps(said: Sequence[str]) -> Rule:
    """What stood in quotation marks still stands there."""

    def rule(text: str) -> str:
        lost = [words for words in said if words not in text]
        return f"the words “{lost[0]}” are lost" if lost else ""

    return rule


def broken(text: str, **more: Rule) -> str:
    """The first rule that an instruction breaks, by its name and with the reason; or nothing.

    >>> broken("Add a red red red red kite.")
    'garbled text: something is repeated over and over'
    """
    rules: dict[str, Rule] = {"left-over format": markup, "garbled text": garbled}
    rules |= {"refusal": declined}
    rules |= {name.replace("_", " "): rule for name, rule in more.items()}
    for name, rule in rules.items():
        if reason := rule(text):
            return f"{name}: {reason}"
    return ""
