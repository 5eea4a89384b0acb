"""Rules for instructions and questions.

Each rule has a name and a message. The message is sent to the model that wrote the text, and shown in the report.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from creval.parsing.text_checks import (
    WIDE_CHARACTER,
    WORD,
    count_words,
    damage_reason,
    dominant_script,
    find_quotes,
    leftover_markup_reason,
    remove_quotes,
)
from creval.parsing.written_instructions import WrittenInstruction
from creval.parsing.written_questions import WrittenQuestion

_MAX_INSTRUCTION_WORDS = 65  # as in the paper
_MAX_QUESTION_WORDS = 45
_MIN_WORD_OVERLAP = 0.8
_MIN_ADDED_WORDS = 2  # words


class RuleViolation(NamedTuple):
    """A violated rule, its message, and the text that violates it."""

    rule: str
    message: str
    text: str


_DAMAGED = "its text is damaged: broken characters, leftover markup, or words that stutter"
_TWO_FACTS = re.compile(
    r"(?:\b(?:and|or|but|while)|[;,])\s+(?:is|are|was|were|does|do|did|has|have|can|could|which|"
    r"what|where|whether|if)\b|[?？][^?？\n]*[?？][^\w?？]*$|\band/or\b|\bas well as\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:beautiful|pretty|attractive|appealing|pleasing|pleasant|nice|nicely|impressive|stunning|aesthetically|"
    r"tasteful\w*|harmonious\w*|interesting|convincing\w*|good-looking|creative(?:ly)?|well[- ]made)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:something like|some kind of|some sort of|or something|and/or|for example|e\.g\.|etc|such as|maybe|perhaps|"
    r"possibly|if possible|optionally|as you (?:like|see fit|wish)|either|and so on)\b",
    re.IGNORECASE,
)
_RETOUCH = re.compile(
    r"^\W*(?:please\s+)?(?:slightly\s+)?(?:crop|brighten|darken|sharpen|denoise|straighten|"
    r"blur|retouch|upscale|enhance|adjust|increase|reduce)\b",
    re.IGNORECASE,
)
_SMALL_WORDS = (
    "a an the is are was were be been does do did has have of in on at to with by from and or its it this that there "
    "any now still into as for can could"
)
_STOP_WORDS = frozenset(_SMALL_WORDS.split())


def _is_question(text: str) -> bool:
    return text.rstrip(" \"'”’」)").endswith(("?", "？"))


def _is_garbled(text: str) -> bool:
    return bool(damage_reason(text) or leftover_markup_reason(text))


def is_same_question(one: str, other: str) -> bool:
    """Return whether two questions ask for the same thing. Their words are compared, without stop words."""
    first, second = _content_words(one), _content_words(other)
    if not first or not second:
        return one.casefold() == other.casefold()
    return len(first & second) >= _MIN_WORD_OVERLAP * len(first | second)


def _content_words(text: str) -> set[str]:
    found = {word.casefold() for word in WORD.findall(WIDE_CHARACTER.sub(" ", text))} - _STOP_WORDS
    wide = WIDE_CHARACTER.findall(text)
    return found | {a + b for a, b in pairwise(wide)}


def find_question_violations(
    question: WrittenQuestion, metric: str, instruction: str, other_questions: Sequence[str] = ()
) -> list[RuleViolation]:
    """Return the violations of a question of a metric, given the instruction and the other questions."""
    text, unquoted, words = question.text, remove_quotes(question.text), count_words(question.text)
    return _list_violations(
        text,
        ("question", "it is not a question that ends in a question mark", not _is_question(text) or words < 3),
        ("answer", "its answer must be Yes or No and nothing else", question.answer not in ("Yes", "No")),
        ("weight", "its weight must be 1, 2 or 3", metric == "VC" and question.weight not in (1.0, 2.0, 3.0)),
        ("garbled", _DAMAGED, _is_garbled(text)),
        ("length", f"it has more than {_MAX_QUESTION_WORDS} words", words > _MAX_QUESTION_WORDS),
        ("one fact", "it asks for more than one fact; ask for each by itself", _TWO_FACTS.search(unquoted)),
        ("taste", "it is a matter of taste; ask for what can be seen", _TASTE.search(text)),
        (
            "language",
            "it is in another language than the instruction",
            dominant_script(unquoted) != dominant_script(instruction),
        ),
        (
            "duplicate",
            "it asks the same as another question",
            any(is_same_question(text, other) for other in other_questions),
        ),
    )


def find_instruction_violations(instruction: WrittenInstruction, original: str = "") -> list[RuleViolation]:
    """Return the violations of a generated instruction. `original` is the instruction that was rewritten."""
    text, words, attributes = instruction.text, count_words(instruction.text), len(instruction.attributes)
    unquoted = remove_quotes(text)
    script = dominant_script(unquoted)
    rules = [
        ("length", f"it has more than {_MAX_INSTRUCTION_WORDS} words", words > _MAX_INSTRUCTION_WORDS),
        ("empty", "it has fewer than 3 words", words < 3),
        ("thin", "it has fewer than 10 words and cannot hold four attributes", words < 10),
        ("question", "it is a question and not an instruction", _is_question(text)),
        ("garbled", _DAMAGED, _is_garbled(text)),
        ("ambiguity", "it leaves a choice open; say exactly what is to be done", _VAGUE.search(unquoted)),
        ("retouching", "it asks for retouching and not for a transformation", _RETOUCH.search(text)),
    ]
    if not original:
        rules += [
            ("language", "it is not in English", script != "LATIN"),
            ("attributes", "it must have four or five attributes", attributes not in (0, 4, 5)),
        ]
        return _list_violations(text, *rules)
    before = dominant_script(remove_quotes(original))
    added = len(_content_words(text) - _content_words(original))
    too_little = attributes not in (0, 2, 3) or added < _MIN_ADDED_WORDS
    lost_quotes = [sign for sign in find_quotes(original) if sign not in text]
    return _list_violations(
        text,
        *rules,
        ("language", "it is in another language than the one given", script != before),
        ("attributes", "it must add two or three attributes to the one given", too_little),
        ("quoted", "what stands in quotation marks must stay letter by letter", lost_quotes),
    )


def find_given_violations(text: str) -> list[RuleViolation]:
    """Return the violations of a user's instruction. Only a few rules apply to it."""
    found = find_instruction_violations(WrittenInstruction(text))
    return [violation for violation in found if violation.rule in ("empty", "garbled")]


def _list_violations(text: str, *rules: tuple[str, str, object]) -> list[RuleViolation]:
    """Return the violations of a text.

    Each of `rules` is a rule's name, its message and whether the text violates it.
    """
    return [RuleViolation(name, message, text) for name, message, is_broken in rules if is_broken]
