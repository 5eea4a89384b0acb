"""The scales on which judges answer: how an answer is read, compared and reduced."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from creval.core.errors import unknown
from creval.core.verdict import Status


class Contract(ABC):
    """A scale. It owns the wording that asks for an answer, its schema, and its reading.

    `choices` are the answers as JSON values; `scale` names them to a judge.
    """

    name: str
    scale: str
    choices: tuple[str, ...] | tuple[int, ...]

    @abstractmethod
    def read(self, said: object) -> tuple[Status, float | None]:
        """The status and value of one answer as a judge gave it; never raises, never guesses."""

    @abstractmethod
    def repair(self, released: str) -> str | None:
        """A reference as a release writes it, in the contract's own words, or none."""

    @abstractmethod
    def credit(self, value: float, reference: str) -> float:
        """How far an answer agrees with a reference, from 0 to 1."""

    @abstractmethod
    def reduce(self, values: Sequence[float]) -> float | None:
        """One value for several answers to the same question, or none where they tie."""

    def request(self, labels: Sequence[str], *, reasoned: bool = False) -> str:
        """What tells a judge how to answer the questions under these labels.

        `reasoned` lets it think aloud before each answer.
        """
        entry = {"explanation": "what in the images decides it", "answer": self.choices[-1]}
        example = json.dumps(dict.fromkeys(labels[:2], entry))
        more = "" if len(labels) <= 2 else f", and so on up to {labels[-1]}"
        what = "the question" if len(labels) == 1 else f"each of the {len(labels)} questions"
        return (
            f"Reply with one JSON object and nothing else, with an entry for {what} under its "
            f"label{more}:\n{example}\n{_AT_LENGTH if reasoned else _BRIEFLY} "
            f"Every answer is {self.scale}."
        )

    def bare_request(self) -> str:
        """What asks for the answer alone, so that its probability can be read off one token."""
        return f"Reply with the answer alone and nothing else. The answer is {self.scale}."

    def schema(self, labels: Sequence[str]) -> dict[str, Any]:
        """The JSON schema of a reply to the questions under these labels: none can be left out."""
        kind = "string" if isinstance(self.choices[0], str) else "integer"
        answer = {
            "explanation": {"type": "string"},
            "answer": {"type": kind, "enum": list(self.choices)},
        }
        return _closed(dict.fromkeys(labels, _closed(answer)))

    def weigh(self, options: Iterable[tuple[str, float]]) -> float | None:
        """The expected answer, from the words that could have stood in one place and their
        log-probabilities: sum(p * value) / sum(p) over those on the scale. For yes/no that is
        P(yes) / (P(yes) + P(no))."""
        weights = total = 0.0
        for word, log_probability in options:
            _, value = self.read(word)
            if value is not None and not math.isnan(log_probability):
                probability = math.exp(min(0.0, log_probability))
                weights += probability
                total += probability * value
        return total / weights if weights else None


_BRIEFLY = "The explanation is one short sentence and comes first."
_AT_LENGTH = "The explanation comes first: reason there step by step, and let the answer follow."


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object schema with these properties, all required, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class YesNo(Contract):
    """Yes or no; the value is 1 for yes, 0 for no, and between them a probability of yes.

    >>> YesNo().read("** Yes, the hat is red.")
    (<Status.ANSWERED: 'answered'>, 1.0)
    >>> YesNo().read("Yes and no")
    (<Status.UNREADABLE: 'unreadable'>, None)
    """

    name = "yes/no"
    scale = '"Yes" or "No"'
    choices = ("No", "Yes")

    def read(self, said: object) -> tuple[Status, float | None]:
        if isinstance(said, bool):
            return Status.ANSWERED, float(said)
        if said is None:
            return Status.MISSING, None
        return _read_yes_no(str(said))

    def repair(self, released: str) -> str | None:
        _, value = self.read(released)
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


class Whole(Contract):
    """A whole number from 0 to `most`.

    >>> Whole("0-10", 10).read("**7/10**, the hat is missing")
    (<Status.ANSWERED: 'answered'>, 7.0)
    >>> Whole("0-10", 10).read("7.5")
    (<Status.UNREADABLE: 'unreadable'>, None)
    """

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.scale = "1 or 0" if most == 1 else f"a whole number from 0 to {most}"
        self.choices = tuple(range(most + 1))

    def read(self, said: object) -> tuple[Status, float | None]:
        if said is None:
            return Status.MISSING, None
        if isinstance(said, bool) and self.most > 1:
            return Status.UNREADABLE, None
        if isinstance(said, int | float):
            # Compared first: an integer may be too large for a float.
            return self._checked(float(said)) if 0 <= said <= self.most else _UNREADABLE
        return self._read(str(said))

    def repair(self, released: str) -> str | None:
        _, value = self.read(released)
        return None if value is None else str(int(value))

    def credit(self, value: float, reference: str) -> float:
        return 1.0 - abs(value - float(reference)) / self.most

    def reduce(self, values: Sequence[float]) -> float | None:
        """The mean of repeated measurements."""
        return sum(values) / len(values) if values else None

    def _checked(self, value: float) -> tuple[Status, float | None]:
        if value.is_integer() and 0 <= value <= self.most:
            return Status.ANSWERED, value
        return Status.UNREADABLE, None

    def _read(self, said: str) -> tuple[Status, float | None]:
        text = said.strip(_MARKUP)
        if not text:
            return Status.MISSING, None
        match = _NUMBER.match(text)
        if match is None:
            inapplicable = _INAPPLICABLE.search(text) is not None
            return (Status.INAPPLICABLE if inapplicable else Status.UNREADABLE), None
        number, of, remark = match[1], match[2], match[3] or match[4] or ""
        further = _OUT_OF.match(remark)
        of = of or (further[1] if further else None)
        if of is not None and int(of) != self.most:
            return Status.UNREADABLE, None
        if match[3] and any(int(item) == int(float(number)) + 1 for item in _ITEM.findall(remark)):
            return Status.UNREADABLE, None
        if _OTHER_NUMBER.match(remark) or _INAPPLICABLE.search(remark):
            return Status.AMBIGUOUS, None
        if any(float(later) != float(number) for later in _LATER_NUMBER.findall(remark)):
            return Status.AMBIGUOUS, None
        return self._checked(float(number))


_UNREADABLE: tuple[Status, float | None] = (Status.UNREADABLE, None)
# What models put around a word: white space, Markdown, quotes, code fences.
_MARKUP = " \t\r\n\ufeff*_`\"'“”‘’#>"
# Behind an answer: nothing, or a mark that sets a remark off; "Yes and", "No-one", "7-8" have none.
_REMARK = r"[*_`\"'”’]*(?:\s*$|\s*(?:[,;:!(\[，。；：！（–—]|[.-](?=\s|$))\s*(.*)|\s*\n(.*))"
_LEADING = re.compile(r"(yes|no)\b" + _REMARK, re.IGNORECASE | re.DOTALL)
# The other word in the remark, as an answer: "Yes, no." and "No, but yes", not "Yes, no flaws".
_ECHO = re.compile(
    r"(?:(?:and|or|but)\W+(?P<a>yes|no)\b|\W*(?P<b>yes|no)\b\s*(?:[.,;:!?)]|$))", re.IGNORECASE
)
# A sentence further on that is nothing but an answer: "Yes. Actually, no."
_LATER = re.compile(
    r"(?:[.!?\n]|^)[\s*_]*(?:(?:actually|so|but|wait|hmm|rather|or)\b[,\s]*)*(yes|no)\s*(?:[.;!?]|$)",
    re.IGNORECASE,
)
_STATED = (
    r"(?:(?:the\s)?(?:final\s)?(?:score|rating|answer)"
    r"(?:[^\w:=]{0,4}[:=]|\sis\b)[^\w-]{0,8})?([0-9]{1,3}(?:\.0+)?)"
)
_NUMBER = re.compile(
    _STATED + r"(?:\s*(?:/|out of)\s*([0-9]{1,3}))?" + _REMARK, re.IGNORECASE | re.DOTALL
)
_OTHER_NUMBER = re.compile(r"(?:(?:and|or|to|but)\W+)?[0-9]")
# A line that goes on with a list: where `2.` follows, `1. The hat is blue` was no answer.
_ITEM = re.compile(r"^\W{0,4}([0-9]{1,3})[*_]{0,2}[.:)]", re.MULTILINE)
# A sentence at the end of a line that is nothing but a number: "7. Actually, 6."
_LATER_NUMBER = re.compile(
    r"(?:^|[.!?][ \t])[ \t*_]{0,4}(?:(?:actually|so|but|wait|hmm|rather|or)\b[,: \t]{0,4}){0,4}"
    + _STATED
    + r"[*_ \t]{0,4}[.;!]?[*_ \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_OUT_OF = re.compile(r"(?:out\s+of|of|/)\s*([0-9]+)", re.IGNORECASE)
_INAPPLICABLE = re.compile(
    r"\b(?:not applicable|inapplicable|n/a|does(?: not|n't|n’t) apply)\b", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def _read_yes_no(said: str) -> tuple[Status, float | None]:
    text = said.strip(_MARKUP)
    if not text:
        return Status.MISSING, None
    match = _LEADING.match(text)
    if match is None:
        inapplicable = _INAPPLICABLE.search(text) is not None
        return (Status.INAPPLICABLE if inapplicable else Status.UNREADABLE), None
    word, remark = match[1].casefold(), match[2] or match[3] or ""
    echo = _ECHO.match(remark) or _LATER.search(remark)
    other = next(filter(None, echo.groups())).casefold() if echo else word
    if other != word or _INAPPLICABLE.search(remark):
        return Status.AMBIGUOUS, None
    return Status.ANSWERED, float(word == "yes")


CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        YesNo(),
        Whole("0-10", 10),
        Whole("0-25", 25),
        Whole("0-5", 5),
        Whole("1/0", 1),
    )
}


def contract_named(name: str) -> Contract:
    """The contract called `name`."""
    if name not in CONTRACTS:
        raise unknown("answer scale", name, CONTRACTS)
    return CONTRACTS[name]
