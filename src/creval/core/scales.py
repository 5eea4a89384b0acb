"""Answer scales: parsing, comparing and aggregating a judge's answers."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from creval.core.errors import CrevalError
from creval.core.plugins import Registry
from creval.core.stated_verdicts import StatedVerdict, VerdictFinder, remove_quotations
from creval.core.text_cache import cache_by_text
from creval.core.verdict import VerdictStatus


class AnswerScale(ABC):
    """A scale: the wording that asks for an answer, its JSON schema, and its parser.

    `choices` are the answers as JSON values, and `description` describes them to a judge. Answers on a `nominal` scale
    have no order.
    """

    name: str
    description: str
    choices: tuple[str, ...] | tuple[int, ...]
    nominal: bool = False

    @abstractmethod
    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        """Return the status and value of one raw answer. Never raises and never guesses."""

    def find_stated(self, text: str) -> list[StatedVerdict]:  # noqa: ARG002
        """Return the verdicts that running text states outside quotations, in a form that `parse_answer` accepts.

        They only serve to detect contradictions in a reply; they are never used as answers. By default, none are found.
        """
        return []

    def normalise_reference(self, released: str) -> str | None:
        """Return a release's reference answer as a choice of this scale, or None if it is not one."""
        _, value = self.parse_answer(released)
        return None if value is None else str(self.choices[int(value)])

    @abstractmethod
    def credit(self, value: float, reference: str) -> float:
        """Return how far an answer agrees with a reference answer, from 0 to 1."""

    @abstractmethod
    def normalise(self, value: float) -> float | None:
        """Return an answer's position on the scale, from 0 (lowest) to 1; None if the scale has no order."""

    @abstractmethod
    def reduce(self, values: Sequence[float]) -> float | None:
        """Combine several answers to the same question into one value; None if they tie."""

    def mean(self, values: Sequence[float]) -> float | None:
        """Return the mean of several answers to one question; None if there are none."""
        return sum(values) / len(values) if values else None

    def reply_format(self, labels: Sequence[str], *, reasoned: bool = False) -> str:
        """Return the text that asks for an answer to each question label; `reasoned` asks for reasoning before each."""
        entry = {"explanation": EXAMPLE_EXPLANATION, "answer": self.choices[-1]}
        example = json.dumps(dict.fromkeys(labels[:2], entry))
        more = "" if len(labels) <= 2 else f", and so on up to {labels[-1]}"
        what = "the question" if len(labels) == 1 else f"each of the {len(labels)} questions"
        return (
            f"Reply with one JSON object and nothing else, with an entry for {what} under its "
            f"label{more}:\n{example}\n{_LONG_EXPLANATION if reasoned else _SHORT_EXPLANATION} "
            f"Every answer is {self.description}."
        )

    def bare_reply_format(self) -> str:
        """Return the text that asks for the answer alone.

        Then one token is the answer, and its probability can be read.
        """
        return f"Reply with the answer alone and nothing else. The answer is {self.description}."

    def json_schema(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return the JSON schema of a reply to the questions under these labels; all are required."""
        kind = "string" if isinstance(self.choices[0], str) else "integer"
        answer = {"explanation": {"type": "string"}, "answer": {"type": kind, "enum": list(self.choices)}}
        return _strict_object_schema(dict.fromkeys(labels, _strict_object_schema(answer)))

    def expected_value(self, options: Iterable[tuple[str, float]]) -> float | None:
        """Return the mean answer from words and log-probabilities: sum(p * value) / sum(p) over words on the scale."""
        weights = total = 0.0
        for word, log_probability in options:
            _, value = self.parse_answer(word)
            if value is not None and not math.isnan(log_probability):
                probability = math.exp(min(0.0, log_probability))
                weights += probability
                total += probability * value
        return total / weights if weights else None


EXAMPLE_EXPLANATION = "what in the images decides it"
"""Explanation in a request's example. A reply that contains it only echoes the request."""
_SHORT_EXPLANATION = "The explanation is one short sentence and comes first."
_LONG_EXPLANATION = "The explanation comes first: reason there step by step, and let the answer follow."


def _strict_object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of an object with exactly these properties, all required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class YesNo(AnswerScale):
    """Yes or no. The value is 1 for yes and 0 for no; a value between them is a probability of yes.

    >>> YesNo().parse_answer("** Yes, the hat is red.")
    (<VerdictStatus.ANSWERED: 'answered'>, 1.0)
    >>> YesNo().parse_answer("Yes and no")
    (<VerdictStatus.UNREADABLE: 'unreadable'>, None)
    """

    name = "yes/no"
    description = '"Yes" or "No"'
    choices = ("No", "Yes")
    nominal = True

    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        if isinstance(answer, bool):
            return VerdictStatus.ANSWERED, float(answer)
        if answer is None:
            return VerdictStatus.MISSING, None
        return _parse_yes_no(str(answer))

    def find_stated(self, text: str) -> list[StatedVerdict]:
        return _YES_NO_FINDER.find(text)

    def credit(self, value: float, reference: str) -> float:
        return value if reference == "Yes" else 1.0 - value

    def normalise(self, value: float) -> float:
        return value

    def reduce(self, values: Sequence[float]) -> float | None:
        """Return the majority's answer, or the mean of probabilities; None if the answers tie."""
        if len(values) == 1:
            return values[0]
        if any(value not in (0.0, 1.0) for value in values):
            return sum(values) / len(values)
        yes = sum(values)
        return None if 2 * yes == len(values) else float(2 * yes > len(values))


class WholeNumber(AnswerScale):
    """A whole number from `low` to `high`.

    >>> WholeNumber(1, 10).parse_answer("**7/10**, the hat is missing")
    (<VerdictStatus.ANSWERED: 'answered'>, 7.0)
    >>> WholeNumber(1, 10).parse_answer("7.5")
    (<VerdictStatus.UNREADABLE: 'unreadable'>, None)
    """

    def __init__(self, low: int, high: int, name: str = "") -> None:
        if not 0 <= low < high <= 999:
            raise CrevalError(f"invalid scale {low} to {high}: give whole numbers from 0 to 999, the lower one first.")
        self.low, self.high, self.name = low, high, name or f"{low}-{high}"
        self.nominal = (low, high) == (0, 1)
        self.description = "1 or 0" if self.nominal else f"a whole number from {low} to {high}"
        self.choices = tuple(range(low, high + 1))

    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        if answer is None:
            return VerdictStatus.MISSING, None
        if isinstance(answer, bool) and not self.nominal:
            return _UNREADABLE
        if isinstance(answer, int | float):
            # Compare before converting, because an integer may be too large for a float.
            return self._check_range(float(answer)) if self.low <= answer <= self.high else _UNREADABLE
        return self._parse_text(str(answer))

    @cached_property
    def _finder(self) -> VerdictFinder:
        number = rf"(?:[0-9]{{1,3}}(?:\.[0-9]{{1,3}})?|\b(?:{'|'.join(_NUMBER_WORDS)})\b)"
        return VerdictFinder(
            rf"({number}(?:\s?(?:/|out of)\s?(?:[0-9]{{1,3}}|ten|five))?(?:\s?(?:points?\b|分))?)(?![0-9%])",
            own_line=True,
            everywhere=[rf"(?<!\")\b([0-9]{{1,3}}\s?(?:/|out of)\s?{self.high})\b(?!\sof\b)"],
            meaning=_in_digits,
        )

    def find_stated(self, text: str) -> list[StatedVerdict]:
        return self._finder.find(text)

    def normalise_reference(self, released: str) -> str | None:
        _, value = self.parse_answer(released)
        return None if value is None else str(int(value))

    def credit(self, value: float, reference: str) -> float:
        return 1.0 - abs(value - float(reference)) / (self.high - self.low)

    def normalise(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def reduce(self, values: Sequence[float]) -> float | None:
        return self.mean(values)

    def _check_range(self, value: float) -> tuple[VerdictStatus, float | None]:
        if value.is_integer() and self.low <= value <= self.high:
            return VerdictStatus.ANSWERED, value
        return VerdictStatus.UNREADABLE, None

    def _parse_text(self, said: str) -> tuple[VerdictStatus, float | None]:
        text = said.strip(_MARKUP)
        match = _LEADING_NUMBER.match(text)
        if match is None or _MORE_THAN.match(said):
            return _status_without_answer(text), None
        number, of, remark = match[1], match[2], match[3] or match[4] or ""
        further = _OUT_OF.match(remark)
        of = of or (further[1] if further else None)
        if of is not None and int(of) != self.high:
            return VerdictStatus.UNREADABLE, None
        if match[3] and any(int(item) == int(float(number)) + 1 for item in _LIST_ITEM.findall(remark)):
            return VerdictStatus.UNREADABLE, None
        if _OTHER_NUMBER.match(remark) or _INAPPLICABLE.search(remark):
            return VerdictStatus.AMBIGUOUS, None
        stated = [_FIRST_NUMBER.search(words) for _, words in self.find_stated(remark)]
        if any(other is None or float(other[0]) != float(number) for other in stated):
            return VerdictStatus.AMBIGUOUS, None
        return self._check_range(float(number))


class NamedChoice(AnswerScale):
    """One of several names without an order, such as A, B and tie; the value is its position.

    >>> NamedChoice("preference", ("A", "B", "tie")).parse_answer("**B**, it keeps the hat")
    (<VerdictStatus.ANSWERED: 'answered'>, 1.0)
    """

    nominal = True
    choices: tuple[str, ...]

    def __init__(self, name: str, choices: Sequence[str]) -> None:
        self.name, self.choices = name, tuple(choices)
        names = [choice.casefold() for choice in self.choices]
        if len(names) < 2 or len({*names}) < len(names) or not all(choice.strip(_MARKUP) for choice in names):
            raise CrevalError(f"the scale {name!r} needs at least two different names.")
        self.description = f"one of {json.dumps(self.choices, ensure_ascii=False)[1:-1]}"
        # Match longer names first, because "A" is a prefix of "A little".
        either = "|".join(re.escape(choice) for choice in sorted(self.choices, key=len, reverse=True))
        self._leading = re.compile(rf"({either})(?!\w){_REMARK}", re.IGNORECASE | re.DOTALL)
        self._second = re.compile(rf"(?:(?:and|or|but)\s)?({either})\s?(?:[.,;!?]|$)", re.IGNORECASE)
        self._finder = VerdictFinder(rf"({either})(?!\w)")

    def parse_answer(self, answer: object) -> tuple[VerdictStatus, float | None]:
        if answer is None:
            return VerdictStatus.MISSING, None
        if not isinstance(answer, str):
            return _UNREADABLE
        text = answer.strip(_MARKUP)
        match = self._leading.match(text)
        if match is None:
            return _status_without_answer(text), None
        value, remark = self._position(match[1]), match[2] or match[3] or ""
        others = [words for _, words in self.find_stated(remark)]
        if second := self._second.match(remove_quotations(remark)):
            others.append(second[1])
        if any(self._position(other) != value for other in others) or _INAPPLICABLE.search(remark):
            return VerdictStatus.AMBIGUOUS, None
        return VerdictStatus.ANSWERED, value

    def find_stated(self, text: str) -> list[StatedVerdict]:
        return self._finder.find(text)

    def _position(self, name: str) -> float:
        return float([choice.casefold() for choice in self.choices].index(name.casefold()))

    def credit(self, value: float, reference: str) -> float:
        return float(self.choices[int(value)] == reference)

    def normalise(self, value: float) -> None:  # noqa: ARG002
        return None

    def reduce(self, values: Sequence[float]) -> float | None:
        """Return the most frequent answer; None if two are equally frequent."""
        counted = Counter(values).most_common(2)
        tied = len(counted) == 2 and counted[0][1] == counted[1][1]
        return counted[0][0] if counted and not tied else None

    def mean(self, values: Sequence[float]) -> float | None:
        """Return the most frequent answer, because names have no mean."""
        return self.reduce(values)

    def expected_value(self, options: Iterable[tuple[str, float]]) -> float | None:
        """Return the most probable answer."""
        values = {self.parse_answer(word)[1]: probability for word, probability in reversed([*options])}
        values.pop(None, None)
        return max(values, key=lambda value: values[value], default=None)


_UNREADABLE: tuple[VerdictStatus, float | None] = (VerdictStatus.UNREADABLE, None)
# Characters that models put around a word: white space, Markdown, quotes, code fences.
_MARKUP = " \t\r\n\ufeff*_`\"'“”‘’#>"
# The end of an answer: nothing, or punctuation and a remark. "Yes and", "No-one" and "7-8" do not match.
_REMARK = r"[*_`\"'”’]*(?:\s*$|\s*(?:[,;:!(\[，。；：！（–—…]|[.-](?=[.\s]|$))\s*(.*)|\s*\n(.*))"
_LEADING_YES_NO = re.compile(r"(yes|no)\b" + _REMARK, re.IGNORECASE | re.DOTALL)
# A second answer directly after the first: "Yes, no." and "No, but yes", but not "Yes, no flaws".
_SECOND_YES_NO = re.compile(
    r"(?:(?:and|or|but)\s)?(yes|no)\b\s?(?:[.,;:!?)]|$)|(?:and|or|but)\s(yes|no)\b", re.IGNORECASE
)
# Other words that contradict a yes or a no. They are never read as an answer.
_YES_WORDS = "yes|yep|yeah|yup|affirmative|true|correct|oui|sí|ja|sim|tak|evet|да|так"
_NO_WORDS = "no|nope|nah|nay|negative|false|incorrect|nein|non|não|nee|nie|hayır|нет|ні"
_YES_SIGNS = "是的?|はい|네|예|نعم|हाँ|✓|✔|✅|👍"
_NO_SIGNS = "否|不是?|いいえ|아니[요오]|لا|नहीं|✗|✘|❌|👎"
_NO_CLAUSES = (
    r"(?:certainly|definitely|absolutely|surely|probably|clearly|of course) not|not (?:really|at all|quite|exactly)"
    r"|by no means|no way|(?:no,? )?it (?:is|does|was) not|(?:no,? )?it (?:is|does|was)n['’]t"
)
_INAPPLICABLE_CLAUSES = "not applicable|inapplicable|n/a"
_YES = re.compile(rf"{_YES_WORDS}|{_YES_SIGNS}|y|1|t|pass(?:ed)?|right", re.IGNORECASE)


_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b")
_POINTS = re.compile(r"\s?(?:points?|分)$")


def _in_digits(words: str) -> str:
    """Return a text with number words written as digits, and without a unit."""
    digits = _NUMBER_WORD.sub(lambda match: str(_NUMBER_WORDS.index(match[0])), words.casefold())
    return _POINTS.sub("", digits)


def _yes_no_meaning(words: str) -> str:
    if _YES.fullmatch(words):
        return "Yes"
    return words if _INAPPLICABLE.search(words) else "No"


_YES_NO_FINDER = VerdictFinder(
    rf"((?:\b(?:{_YES_WORDS}|{_NO_WORDS})\b|{_YES_SIGNS}|{_NO_SIGNS}))",
    clauses=f"{_NO_CLAUSES}|{_INAPPLICABLE_CLAUSES}",
    after_subject=r"(?:[yntf01]|pass(?:ed)?|fail(?:ed)?|right|wrong)\b",
    meaning=_yes_no_meaning,
    opposites={"Yes": "No", "No": "Yes"},
)
_LEADING_NUMBER = re.compile(
    r"(?:(?:the\s)?(?:final\s)?(?:score|rating|answer)(?:[^\w:=]{0,4}[:=]|\sis\b)[^\w<>≤≥≈~±.,–−-]{0,8})?([0-9]{1,3}(?:\.0{1,9})?)"
    r"(?:\s*(?:/|out of)\s*([0-9]{1,3}))?" + _REMARK,
    re.IGNORECASE | re.DOTALL,
)
_MORE_THAN = re.compile(r"[\s*_`\"']{0,9}>=?[0-9]")
_OTHER_NUMBER = re.compile(r"(?:(?:and|or|to|but)\W{1,9})?[0-9]")
_FIRST_NUMBER = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3})?")
# An item of a numbered list. If `2.` follows, the number in `1. The hat is blue` was not an answer.
_LIST_ITEM = re.compile(r"^\W{0,4}([0-9]{1,3})[*_]{0,2}[.:)]", re.MULTILINE)
_OUT_OF = re.compile(r"(?:out\s{1,9}of|of|/)\s{0,9}([0-9]{1,9})", re.IGNORECASE)
_INAPPLICABLE = re.compile(r"\b(?:not applicable|inapplicable|n/a|does(?: not|n't|n’t) apply)\b", re.IGNORECASE)


def _status_without_answer(text: str) -> VerdictStatus:
    """Return the status of a text in which no answer was found."""
    if not text:
        return VerdictStatus.MISSING
    return VerdictStatus.INAPPLICABLE if _INAPPLICABLE.search(text) else VerdictStatus.UNREADABLE


@cache_by_text(1 << 22)
def _parse_yes_no(said: str) -> tuple[VerdictStatus, float | None]:
    text = said.strip(_MARKUP)
    match = _LEADING_YES_NO.match(text)
    if match is None:
        return _status_without_answer(text), None
    word, remark = match[1].casefold(), match[2] or match[3] or ""
    others = [words for _, words in _YES_NO_FINDER.find(remark)]
    if second := _SECOND_YES_NO.match(remove_quotations(remark)):
        others.append(second[1] or second[2])
    if any(other.casefold() != word for other in others) or _INAPPLICABLE.search(remark):
        return VerdictStatus.AMBIGUOUS, None
    return VerdictStatus.ANSWERED, float(word == "yes")


YES_NO = YesNo()
GRADE_5, GRADE_10, GRADE_25 = (WholeNumber(0, high) for high in (5, 10, 25))
ONE_OR_ZERO = WholeNumber(0, 1, "1/0")
scales: Registry[AnswerScale] = Registry(
    "answer scale",
    {
        "yes/no": f"{__name__}:YES_NO",
        "0-10": f"{__name__}:GRADE_10",
        "0-25": f"{__name__}:GRADE_25",
        "0-5": f"{__name__}:GRADE_5",
        "1/0": f"{__name__}:ONE_OR_ZERO",
    },
)
_RANGE = re.compile(r"(0|[1-9][0-9]{0,2})-([1-9][0-9]{0,2})")


def get_scale(name: str) -> AnswerScale:
    """Return the scale of this name. `LOW-HIGH`, such as `1-5`, needs no registration."""
    return (None if name in scales else _parse_range(name)) or scales.get(name)


def is_scale(name: str) -> bool:
    """Return whether a scale of this name is known."""
    return name in scales or _parse_range(name) is not None


@lru_cache(maxsize=256)
def _parse_range(name: str) -> WholeNumber | None:
    match = _RANGE.fullmatch(name)
    return WholeNumber(int(match[1]), int(match[2])) if match else None
