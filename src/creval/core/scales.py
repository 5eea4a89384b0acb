"""The scales on which judges answer: how an answer is read, compared and reduced."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from creval.core.errors import unknown_name_error
from creval.core.verdict import VerdictStatus


class AnswerScale(ABC):
    """A scale. It owns the wording that asks for an answer, its schema, and its reading.

    `choices` are the answers as JSON values; `scale` names them to a judge.
    """

    name: str
    description: str
    choices: tuple[str, ...] | tuple[int, ...]

    @abstractmethod
    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        """The status and value of one answer as a judge gave it; never raises, never guesses."""

    @abstractmethod
    def normalise_reference(self, released: str) -> str | None:
        """A reference as a release writes it, in the contract's own words, or none."""

    @abstractmethod
    def credit(self, value: float, reference: str) -> float:
        """How far an answer agrees with a reference, from 0 to 1."""

    @abstractmethod
    def reduce(self, values: Sequence[float]) -> float | None:
        """One value for several answers to the same question, or none where they tie."""

    def reply_format(self, labels: Sequence[str], *, reasoned: bool = False) -> str:
        """What tells a judge how to answer the questions under these labels.

        `reasoned` lets it think aloud before each answer.
        """
        entry = {"explanation": "what in the images decides it", "answer": self.choices[-1]}
        example = json.dumps(dict.fromkeys(labels[:2], entry))
        more = "" if len(labels) <= 2 else f", and so on up to {labels[-1]}"
        what = "the question" if len(labels) == 1 else f"each of the {len(labels)} questions"
        return (
            f"Reply with one JSON object and nothing else, with an entry for {what} under its "
            f"label{more}:\n{example}\n{_LONG_EXPLANATION if reasoned else _SHORT_EXPLANATION} "
            f"Every answer is {self.description}."
        )

    def bare_reply_format(self) -> str:
        """What asks for the answer alone, so that its probability can be read off one token."""
        return f"Reply with the answer alone and nothing else. The answer is {self.description}."

    def json_schema(self, labels: Sequence[str]) -> dict[str, Any]:
        """The JSON schema of a reply to the questions under these labels: none can be left out."""
        kind = "string" if isinstance(self.choices[0], str) else "integer"
        answer = {"explanation": {"type": "string"}, "answer": {"type": kind, "enum": list(self.choices)}}
        return _strict_object_schema(dict.fromkeys(labels, _strict_object_schema(answer)))

    def expected_value(self, options: Iterable[tuple[str, float]]) -> float | None:
        """The expected answer, from the words that could have stood in one place and their
        log-probabilities: sum(p * value) / sum(p) over those on the scale. For yes/no that is
        P(yes) / (P(yes) + P(no))."""
        weights = total = 0.0
        for word, log_probability in options:
            _, value = self.parse_answer(word)
            if value is not None and not math.isnan(log_probability):
                probability = math.exp(min(0.0, log_probability))
                weights += probability
                total += probability * value
        return total / weights if weights else None


_SHORT_EXPLANATION = "The explanation is one short sentence and comes first."
_LONG_EXPLANATION = "The explanation comes first: reason there step by step, and let the answer follow."


def _strict_object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """An object schema with these properties, all required, and no other."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class YesNo(AnswerScale):
    """Yes or no; the value is 1 for yes, 0 for no, and between them a probability of yes.

    >>> YesNo().read("** Yes, the hat is red.")
    (<Status.ANSWERED: 'answered'>, 1.0)
    >>> YesNo().read("Yes and no")
    (<Status.UNREADABLE: 'unreadable'>, None)
    """

    name = "yes/no"
    description = '"Yes" or "No"'
    choices = ("No", "Yes")

    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        if isinstance(answer, bool):
            return VerdictStatus.ANSWERED, float(answer)
        if answer is None:
            return VerdictStatus.MISSING, None
        return _parse_yes_no(str(answer))

    def normalise_reference(self, released: str) -> str | None:
        _, value = self.parse_answer(released)
        return None if value is None else self.choices[int(value)]

    def credit(self, value: float, reference: str) -> float:
        return value if reference == "Yes" else 1.0 - value

    def reduce(self, values: Sequence[float]) -> float | None:
        """The majority's answer; of probabilities, the mean."""
        if len(values) == 1:
            return values[0]
        if any(value not in (0.0, 1.0) for value in values):
            return sum(values) / len(values)
        yes = sum(values)
        return None if 2 * yes == len(values) else float(2 * yes > len(values))


class WholeNumber(AnswerScale):
    """A whole number from 0 to `most`.

    >>> Whole("0-10", 10).read("**7/10**, the hat is missing")
    (<Status.ANSWERED: 'answered'>, 7.0)
    >>> Whole("0-10", 10).read("7.5")
    (<Status.UNREADABLE: 'unreadable'>, None)
    """

    def __init__(self, name: str, maximum: int) -> None:
        self.name, self.maximum = name, maximum
        self.description = "1 or 0" if maximum == 1 else f"a whole number from 0 to {maximum}"
        self.choices = tuple(range(maximum + 1))

    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        if answer is None:
            return VerdictStatus.MISSING, None
        if isinstance(answer, bool) and self.maximum > 1:
            return VerdictStatus.UNREADABLE, None
        if isinstance(answer, int | float):
            # Compared first: an integer may be too large for a float.
            return self._check_range(float(answer)) if 0 <= answer <= self.maximum else _UNREADABLE
        return self._parse_text(str(answer))

    def normalise_reference(self, released: str) -> str | None:
        _, value = self.parse_answer(released)
        return None if value is None else str(int(value))

    def credit(self, value: float, reference: str) -> float:
        return 1.0 - abs(value - float(reference)) / self.maximum

    def reduce(self, values: Sequence[float]) -> float | None:
        """The mean of repeated measurements."""
        return sum(values) / len(values) if values else None

    def _check_range(self, value: float) -> tuple[VerdictStatus, float | None]:
        if value.is_integer() and 0 <= value <= self.maximum:
            return VerdictStatus.ANSWERED, value
        return VerdictStatus.UNREADABLE, None

    def _parse_text(self, said: str) -> tuple[VerdictStatus, float | None]:
        text = said.strip(_MARKUP)
        if not text:
            return VerdictStatus.MISSING, None
        match = _LEADING_NUMBER.match(text)
        if match is None:
            inapplicable = _INAPPLICABLE.search(text) is not None
            return (VerdictStatus.INAPPLICABLE if inapplicable else VerdictStatus.UNREADABLE), None
        number, of, remark = match[1], match[2], match[3] or match[4] or ""
        further = _OUT_OF.match(remark)
        of = of or (further[1] if further else None)
        if of is not None and int(of) != self.maximum:
            return VerdictStatus.UNREADABLE, None
        if match[3] and any(int(item) == int(float(number)) + 1 for item in _LIST_ITEM.findall(remark)):
            return VerdictStatus.UNREADABLE, None
        if _OTHER_NUMBER.match(remark) or _INAPPLICABLE.search(remark):
            return VerdictStatus.AMBIGUOUS, None
        if any(float(later) != float(number) for later in _LATER_NUMBER.findall(remark)):
            return VerdictStatus.AMBIGUOUS, None
        return self._check_range(float(number))


_UNREADABLE: tuple[VerdictStatus, float | None] = (VerdictStatus.UNREADABLE, None)
# What models put around a word: white space, Markdown, quotes, code fences.
_MARKUP = " \t\r\n\ufeff*_`\"'“”‘’#>"
# Behind an answer: nothing, or a mark that sets a remark off; "Yes and", "No-one", "7-8" have none.
_REMARK = r"[*_`\"'”’]*(?:\s*$|\s*(?:[,;:!(\[，。；：！（–—]|[.-](?=\s|$))\s*(.*)|\s*\n(.*))"
_LEADING_YES_NO = re.compile(r"(yes|no)\b" + _REMARK, re.IGNORECASE | re.DOTALL)
# The other word in the remark, as an answer: "Yes, no." and "No, but yes", not "Yes, no flaws".
_SECOND_YES_NO = re.compile(r"(?:(?:and|or|but)\W+(?P<a>yes|no)\b|\W*(?P<b>yes|no)\b\s*(?:[.,;:!?)]|$))", re.IGNORECASE)
# A sentence further on that is nothing but an answer: "Yes. Actually, no."
_LATER_YES_NO = re.compile(
    r"(?:[.!?\n]|^)[\s*_]*(?:(?:actually|so|but|wait|hmm|rather|or)\b[,\s]*)*(yes|no)\s*(?:[.;!?]|$)", re.IGNORECASE
)
_NUMBER_PATTERN = (
    r"(?:(?:the\s)?(?:final\s)?(?:score|rating|answer)"
    r"(?:[^\w:=]{0,4}[:=]|\sis\b)[^\w-]{0,8})?([0-9]{1,3}(?:\.0+)?)"
)
_LEADING_NUMBER = re.compile(
    _NUMBER_PATTERN + r"(?:\s*(?:/|out of)\s*([0-9]{1,3}))?" + _REMARK, re.IGNORECASE | re.DOTALL
)
_OTHER_NUMBER = re.compile(r"(?:(?:and|or|to|but)\W+)?[0-9]")
# A line that goes on with a list: where `2.` follows, `1. The hat is blue` was no answer.
_LIST_ITEM = re.compile(r"^\W{0,4}([0-9]{1,3})[*_]{0,2}[.:)]", re.MULTILINE)
# A sentence at the end of a line that is nothing but a number: "7. Actually, 6."
_LATER_NUMBER = re.compile(
    r"(?:^|[.!?][ \t])[ \t*_]{0,4}(?:(?:actually|so|but|wait|hmm|rather|or)\b[,: \t]{0,4}){0,4}"
    + _NUMBER_PATTERN
    + r"[*_ \t]{0,4}[.;!]?[*_ \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_OUT_OF = re.compile(r"(?:out\s+of|of|/)\s*([0-9]+)", re.IGNORECASE)
_INAPPLICABLE = re.compile(r"\b(?:not applicable|inapplicable|n/a|does(?: not|n't|n’t) apply)\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _parse_yes_no(said: str) -> tuple[VerdictStatus, float | None]:
    text = said.strip(_MARKUP)
    if not text:
        return VerdictStatus.MISSING, None
    match = _LEADING_YES_NO.match(text)
    if match is None:
        inapplicable = _INAPPLICABLE.search(text) is not None
        return (VerdictStatus.INAPPLICABLE if inapplicable else VerdictStatus.UNREADABLE), None
    word, remark = match[1].casefold(), match[2] or match[3] or ""
    echo = _SECOND_YES_NO.match(remark) or _LATER_YES_NO.search(remark)
    other = next(filter(None, echo.groups())).casefold() if echo else word
    if other != word or _INAPPLICABLE.search(remark):
        return VerdictStatus.AMBIGUOUS, None
    return VerdictStatus.ANSWERED, float(word == "yes")


SCALES: dict[str, AnswerScale] = {
    contract.name: contract
    for contract in (
        YesNo(),
        WholeNumber("0-10", 10),
        WholeNumber("0-25", 25),
        WholeNumber("0-5", 5),
        WholeNumber("1/0", 1),
    )
}


def get_scale(name: str) -> AnswerScale:
    """The contract called `name`."""
    if name not in SCALES:
        raise unknown_name_error("answer scale", name, SCALES)
    return SCALES[name]
