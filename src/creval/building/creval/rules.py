"""What an instruction and a question must be like: rules, each with a name and a sentence.

A sentence says what is wrong to the model that wrote it and to the person who reads the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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

MAX_INSTRUCTION_WORDS = 65
"""Of an instruction, as in the paper."""
_MAX_QUESTION_WORDS = 45
_MIN_WORD_OVERLAP = 0.8
_MIN_ADDED_WORDS = 2  # words


class RuleViolation(NamedTuple):
    """What is wrong with something that was written: the rule, its sentence, and the words."""

    rule: str
    message: str
    text: str


class QuestionContext(NamedTuple):
    """What a question is measured by: its metric, the instruction, and what is asked already."""

    metric: str
    instruction: str
    other_questions: Sequence[str] = ()


class QuestionRule(NamedTuple):
    name: str
    message: str
    is_broken: Callable[[WrittenQuestion, QuestionContext], bool]


class InstructionRule(NamedTuple):
    """`applies_to_given` says that the rule holds for people's own instructions, too."""

    name: str
    message: str
    is_broken: Callable[[WrittenInstruction], bool]
    applies_to_given: bool = False


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
_STOP_WORDS = frozenset(
    WORD.findall(
        "a an the is are was were be been does do did has have of in on at to with by from and or "
        "its it this that there any now still into as for can could"
    )
)


def _is_question(text: str) -> bool:
    return text.rstrip(" \"'”’」)").endswith(("?", "？"))


def _is_garbled(text: str) -> bool:
    return bool(damage_reason(text) or leftover_markup_reason(text))


def is_same_question(one: str, other: str) -> bool:
    """Whether two questions ask the same, going by their words without the small ones."""
    first, second = _content_words(one), _content_words(other)
    if not first or not second:
        return one.casefold() == other.casefold()
    return len(first & second) >= _MIN_WORD_OVERLAP * len(first | second)


def _content_words(text: str) -> set[str]:
    found = {word.casefold() for word in WORD.findall(WIDE_CHARACTER.sub(" ", text))} - _STOP_WORDS
    wide = WIDE_CHARACTER.findall(text)
    return found | {a + b for a, b in pairwise(wide)}


QUESTION_RULES = (
    QuestionRule(
        "question",
        "it is not a question that ends in a question mark",
        lambda asked, _: not _is_question(asked.text) or count_words(asked.text) < 3,
    ),
    QuestionRule(
        "answer", "its answer must be Yes or No and nothing else", lambda asked, _: asked.answer not in ("Yes", "No")
    ),
    QuestionRule(
        "weight",
        "its weight must be 1, 2 or 3",
        lambda asked, to: to.metric == "VC" and asked.weight not in (1.0, 2.0, 3.0),
    ),
    QuestionRule(
        "garbled",
        "its text is damaged: broken characters, leftover markup, or words that stutter",
        lambda asked, _: _is_garbled(asked.text),
    ),
    QuestionRule(
        "length",
        f"it has more than {_MAX_QUESTION_WORDS} words",
        lambda asked, _: count_words(asked.text) > _MAX_QUESTION_WORDS,
    ),
    QuestionRule(
        "one fact",
        "it asks for more than one fact; ask for each by itself",
        lambda asked, _: bool(_TWO_FACTS.search(remove_quotes(asked.text))),
    ),
    QuestionRule(
        "taste", "it is a matter of taste; ask for what can be seen", lambda asked, _: bool(_TASTE.search(asked.text))
    ),
    QuestionRule(
        "language",
        "it is in another language than the instruction",
        lambda asked, to: dominant_script(remove_quotes(asked.text)) != dominant_script(to.instruction),
    ),
    QuestionRule(
        "duplicate",
        "it asks the same as another question",
        lambda asked, to: any(is_same_question(asked.text, other) for other in to.other_questions),
    ),
)

INSTRUCTION_RULES = (
    InstructionRule(
        "length",
        f"it has more than {MAX_INSTRUCTION_WORDS} words",
        lambda told: count_words(told.text) > MAX_INSTRUCTION_WORDS,
    ),
    InstructionRule(
        "empty", "it has fewer than 3 words", lambda told: count_words(told.text) < 3, applies_to_given=True
    ),
    InstructionRule(
        "thin", "it has fewer than 10 words and cannot hold four attributes", lambda told: count_words(told.text) < 10
    ),
    InstructionRule("question", "it is a question and not an instruction", lambda told: _is_question(told.text)),
    InstructionRule(
        "garbled",
        "its text is damaged: broken characters, leftover markup, or words that stutter",
        lambda told: _is_garbled(told.text),
        applies_to_given=True,
    ),
    InstructionRule(
        "ambiguity",
        "it leaves a choice open; say exactly what is to be done",
        lambda told: bool(_VAGUE.search(remove_quotes(told.text))),
    ),
    InstructionRule(
        "retouching",
        "it asks for retouching and not for a transformation",
        lambda told: bool(_RETOUCH.search(told.text)),
    ),
)
# Of instructions that a model wrote from a picture.
ENGLISH_RULE = InstructionRule(
    "language", "it is not in English", lambda told: dominant_script(remove_quotes(told.text)) != "LATIN"
)
ATTRIBUTE_COUNT_RULE = InstructionRule(
    "attributes", "it must have four or five attributes", lambda told: len(told.attributes) not in (0, 4, 5)
)


def rewrite_rules(original: str) -> tuple[InstructionRule, ...]:
    """What an instruction must be like that was made from another one."""
    script, before, signs = (dominant_script(remove_quotes(original)), _content_words(original), find_quotes(original))
    return (
        InstructionRule(
            "language",
            "it is in another language than the one given",
            lambda told: dominant_script(remove_quotes(told.text)) != script,
        ),
        InstructionRule(
            "attributes",
            "it must add two or three attributes to the one given",
            lambda told: (
                len(told.attributes) not in (0, 2, 3) or len(_content_words(told.text) - before) < _MIN_ADDED_WORDS
            ),
        ),
        InstructionRule(
            "quoted",
            "what stands in quotation marks must stay letter by letter",
            lambda told: any(sign not in told.text for sign in signs),
        ),
    )


def find_question_violations(question: WrittenQuestion, context: QuestionContext) -> list[RuleViolation]:
    """What is wrong with a question."""
    return [
        RuleViolation(rule.name, rule.message, question.text)
        for rule in QUESTION_RULES
        if rule.is_broken(question, context)
    ]


def find_instruction_violations(
    instruction: WrittenInstruction, rules: Sequence[InstructionRule]
) -> list[RuleViolation]:
    """What is wrong with an instruction."""
    return [RuleViolation(rule.name, rule.message, instruction.text) for rule in rules if rule.is_broken(instruction)]
