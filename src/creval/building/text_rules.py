"""Rules that a written text must keep, each with a name: what breaks one is asked for again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from creval.parsing.text_checks import count_words, damage, leftover, refuses, unquoted

_STEPS = re.compile(r"(?:^|\s)(?:step\s+)?[1-9][.):]\s|^\s*[-*•]\s", re.IGNORECASE)
_LATIN = 0.9
Rule = Callable[[str], str]
"""What is wrong with a text, or nothing."""


def garbled(text: str) -> str:
    """Text that fell apart: damaged, in mixed scripts, or more signs than words."""
    if reason := damage(text):
        return reason
    bare = unquoted(text)
    letters = [char for char in bare if char.isalpha()]
    if not letters:
        return "there are no words outside quotation marks"
    latin = sum("LATIN" in unicodedata.name(char, "") for char in letters)
    if latin < _LATIN * len(letters):
        return "it is not in English"
    if sum(char.isalnum() or char.isspace() for char in bare) < 0.8 * len(bare):
        return "it is more signs than words"
    return ""


def refusal(text: str) -> str:
    return "it declines instead of instructing" if refuses(text) else ""


def one_sentence_each(text: str) -> str:
    """A compound instruction is not a list."""
    return "it is a list of steps, not one instruction" if _STEPS.search(text) else ""


def length(fewest: int, most: int) -> Rule:
    def rule(text: str) -> str:
        words = count_words(text)
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
    rules: dict[str, Rule] = {
        "left-over format": leftover,
        "garbled text": garbled,
        "refusal": refusal,
    }
    rules |= {name.replace("_", " "): rule for name, rule in more.items()}
    for name, rule in rules.items():
        if reason := rule(text):
            return f"{name}: {reason}"
    return ""
