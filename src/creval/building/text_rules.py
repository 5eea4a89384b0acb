"""Rules for generated texts. A text that violates a rule is requested again."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from creval.calls.validated_text import InvalidReplyError
from creval.parsing.text_checks import (
    contains_refusal,
    count_words,
    damage_reason,
    leftover_markup_reason,
    remove_quotes,
)

_STEP_LIST = re.compile(r"(?:^|\s)(?:step\s+)?[1-9][.):]\s|^\s*[-*•]\s", re.IGNORECASE)
_MIN_LATIN_SHARE = 0.9
TextRule = Callable[[str], str]
"""Returns the reason why a text violates the rule, or ""."""


def garbled_reason(text: str) -> str:
    """Return why a text is garbled (damaged, not in Latin script, or mostly symbols), or ""."""
    if reason := damage_reason(text):
        return reason
    bare = remove_quotes(text)
    letters = [char for char in bare if char.isalpha()]
    if not letters:
        return "there are no words outside quotation marks"
    latin = sum("LATIN" in unicodedata.name(char, "") for char in letters)
    if latin < _MIN_LATIN_SHARE * len(letters):
        return "it is not in English"
    if sum(char.isalnum() or char.isspace() for char in bare) < 0.8 * len(bare):
        return "it is more signs than words"
    return ""


def step_list_reason(text: str) -> str:
    """Return a reason for rejection if a text is a list of steps instead of one instruction, or ""."""
    return "it is a list of steps, not one instruction" if _STEP_LIST.search(text) else ""


def length_rule(min_words: int, max_words: int) -> TextRule:
    def rule(text: str) -> str:
        words = count_words(text)
        if words < min_words:
            return f"it has {words} words; at least {min_words} are needed"
        return f"it has {words} words; at most {max_words} are allowed" if words > max_words else ""

    return rule


def kept_quotes_rule(quoted_texts: Sequence[str]) -> TextRule:
    """Return a rule that is broken if one of these quoted texts is missing."""

    def rule(text: str) -> str:
        lost = [words for words in quoted_texts if words not in text]
        return f"the words “{lost[0]}” are lost" if lost else ""

    return rule


def find_violation(text: str, **extra_rules: TextRule) -> str:
    """Return the name and the reason of the first rule that an instruction violates, or "".

    >>> find_violation("Add a red red red red kite.")
    'garbled text: something is repeated over and over'
    """
    rules: dict[str, TextRule] = {
        "left-over format": leftover_markup_reason,
        "garbled text": garbled_reason,
        "refusal": lambda text: "it declines instead of instructing" if contains_refusal(text) else "",
    }
    rules |= {name.replace("_", " "): rule for name, rule in extra_rules.items()}
    for name, rule in rules.items():
        if reason := rule(text):
            return f"{name}: {reason}"
    return ""


def require_valid(text: str, **extra_rules: TextRule) -> str:
    """Return the text unchanged. Raises `InvalidReplyError` if it violates a rule."""
    if reason := find_violation(text, **extra_rules):
        raise InvalidReplyError(reason)
    return text
