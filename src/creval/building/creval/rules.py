"""What an instruction and a question must be like: rules, each with a name and a sentence.

A sentence says what is wrong to the model that wrote it and to the person who reads the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from creval.parsing.instructions import Instruction
from creval.parsing.questions import Written
from creval.parsing.text_checks import (
    WIDE,
    WORD,
    count_words,
    damage,
    leftover,
    quotes,
    script_of,
    unquoted,
)

MOST_WORDS = 65
"""Of an instruction, as in the paper."""
_LONGEST_QUESTION = 45
_ALIKE = 0.8
_FEWEST_ADDED = 2  # words


class Fault(NamedTuple):
    """What is wrong with something that was written: the rule, its sentence, and the words."""

    rule: str
    sentence: str
    text: str


class Context(NamedTuple):
    """What a question is measured by: its metric, the instruction, and what is asked already."""

    metric: str
    instruction: str
    others: Sequence[str] = ()


class QuestionRule(NamedTuple):
    name: str
    sentence: str
    broken: Callable[[Written, Context], bool]


class InstructionRule(NamedTuple):
    """`given` says that the rule holds for people's own instructions, too."""

    name: str
    sentence: str
    broken: Callable[[Instruction], bool]
    given: bool = False


_TWO_FACTS = re.compile(
    r"(?:\b(?:and|or|but|while)|[;,])\s+(?:is|are|was|were|does|do|did|has|have|can|could|which|"
    r"what|where|whether|if)\b|[?？].*[?？]\W*$|\band/or\b|\bas well as\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:beautiful|pretty|attractive|appealing|pleasing|pleasant|nice|nicely|impressive|"
    r"stunning|aesthetically|tasteful\w*|harmonious\w*|interesting|convincing\w*|good-looking|"
    r"creative(?:ly)?|well[- ]made)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:something like|some kind of|some sort of|or something|and/or|for example|e\.g\.|etc|"
    r"such as|maybe|perhaps|possibly|if possible|optionally|as you (?:like|see fit|wish)|"
    r"either|and so on)\b",
    re.IGNORECASE,
)
_RETOUCH = re.compile(
    r"^\W*(?:please\s+)?(?:slightly\s+)?(?:crop|brighten|darken|sharpen|denoise|straighten|"
    r"blur|retouch|upscale|enhance|adjust|increase|reduce)\b",
    re.IGNORECASE,
)
_SMALL = frozenset(
    WORD.findall(
        "a an the is are was were be been does do did has have of in on at to with by from and or "
        "its it this that there any now still into as for can could"
    )
)


def _is_question(text: str) -> bool:
    return text.rstrip(" \"'”’」)").endswith(("?", "？"))


def _garbled(text: str) -> bool:
    return bool(damage(text) or leftover(text))


def alike(one: str, other: str) -> bool:
    """Whether two questions ask the same, going by their words without the small ones."""
    first, second = _content(one), _content(other)
    if not first or not second:
        return one.casefold() == other.casefold()
    return len(first & second) >= _ALIKE * len(first | second)


def _content(text: str) -> set[str]:
    found = {word.casefold() for word in WORD.findall(WIDE.sub(" ", text))} - _SMALL
    wide = WIDE.findall(text)
    return found | {a + b for a, b in pairwise(wide)}


QUESTION_RULES = (
    QuestionRule(
        "question",
        "it is not a question that ends in a question mark",
        lambda asked, _: not _is_question(asked.text) or count_words(asked.text) < 3,
    ),
    QuestionRule(
        "answer",
        "its answer must be Yes or No and nothing else",
        lambda asked, _: asked.answer not in ("Yes", "No"),
    ),
    QuestionRule(
        "weight",
        "its weight must be 1, 2 or 3",
        lambda asked, to: to.metric == "VC" and asked.weight not in (1.0, 2.0, 3.0),
    ),
    QuestionRule(
        "garbled",
        "its text is damaged: broken characters, leftover markup, or words that stutter",
        lambda asked, _: _garbled(asked.text),
    ),
    QuestionRule(
        "length",
        f"it has more than {_LONGEST_QUESTION} words",
        lambda asked, _: count_words(asked.text) > _LONGEST_QUESTION,
    ),
    QuestionRule(
        "one fact",
        "it asks for more than one fact; ask for each by itself",
        lambda asked, _: bool(_TWO_FACTS.search(unquoted(asked.text))),
    ),
    QuestionRule(
        "taste",
        "it is a matter of taste; ask for what can be seen",
        lambda asked, _: bool(_TASTE.search(asked.text)),
    ),
    QuestionRule(
        "language",
        "it is in another language than the instruction",
        lambda asked, to: script_of(unquoted(asked.text)) != script_of(to.instruction),
    ),
    QuestionRule(
        "duplicate",
        "it asks the same as another question",
        lambda asked, to: any(alike(asked.text, other) for other in to.others),
    ),
)

INSTRUCTION_RULES = (
    InstructionRule(
        "length",
        f"it has more than {MOST_WORDS} words",
        lambda told: count_words(told.text) > MOST_WORDS,
    ),
    InstructionRule("empty", "it has fewer than 3 words", lambda told: count_words(told.text) < 3,
                    given=True),
    InstructionRule("thin", "it has fewer than 10 words and cannot hold four attributes",
                    lambda told: count_words(told.text) < 10),
    InstructionRule("question", "it is a question and not an instruction",
                    lambda told: _is_question(told.text)),
    InstructionRule(
        "garbled",
        "its text is damaged: broken characters, leftover markup, or words that stutter",
        lambda told: _garbled(told.text),
        given=True,
    ),
    InstructionRule("ambiguity", "it leaves a choice open; say exactly what is to be done",
                    lambda told: bool(_VAGUE.search(unquoted(told.text)))),
    InstructionRule("retouching", "it asks for retouching and not for a transformation",
                    lambda told: bool(_RETOUCH.search(told.text))),
)  # fmt: skip
# Of instructions that a model wrote from a picture.
LANGUAGE = InstructionRule("language", "it is not in English",
                           lambda told: script_of(unquoted(told.text)) != "LATIN")  # fmt: skip
ATTRIBUTES = InstructionRule("attributes", "it must have four or five attributes",
                             lambda told: len(told.attributes) not in (0, 4, 5))  # fmt: skip


def rewrite_rules(given: str) -> tuple[InstructionRule, ...]:
    """What an instruction must be like that was made from another one."""
    script, before, signs = script_of(unquoted(given)), _content(given), quotes(given)
    return (
        InstructionRule("language", "it is in another language than the one given",
                        lambda told: script_of(unquoted(told.text)) != script),
        InstructionRule("attributes", "it must add two or three attributes to the one given",
                        lambda told: len(told.attributes) not in (0, 2, 3)
                        or len(_content(told.text) - before) < _FEWEST_ADDED),
        InstructionRule("quoted", "what stands in quotation marks must stay letter by letter",
                        lambda told: any(sign not in told.text for sign in signs)),
    )  # fmt: skip


def question_faults(asked: Written, to: Context) -> list[Fault]:
    """What is wrong with a question."""
    return [
        Fault(rule.name, rule.sentence, asked.text)
        for rule in QUESTION_RULES
        if rule.broken(asked, to)
    ]


def instruction_faults(told: Instruction, rules: Sequence[InstructionRule]) -> list[Fault]:
    """What is wrong with an instruction."""
    return [Fault(rule.name, rule.sentence, told.text) for rule in rules if rule.broken(told)]
