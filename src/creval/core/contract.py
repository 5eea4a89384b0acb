"""The scales on which judges answer: how an answer is read, compared and reduced."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from creval.core.errors import unknown
from creval.core.verdict import Status


class Contract(ABC):
    """A scale. It owns the reading of an answer, wherever one is read."""

    name: str

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


class YesNo(Contract):
    """Yes or no; the value is 1 for yes, 0 for no.

    >>> YesNo().read("** Yes, the hat is red.")
    (<Status.ANSWERED: 'answered'>, 1.0)
    >>> YesNo().read("Yes and no")
    (<Status.UNREADABLE: 'unreadable'>, None)
    """

    name = "yes/no"
    words = ("No", "Yes")

    def read(self, said: object) -> tuple[Status, float | None]:
        if isinstance(said, bool):
            return Status.ANSWERED, float(said)
        if said is None:
            return Status.MISSING, None
        return _read_yes_no(str(said))

    def repair(self, released: str) -> str | None:
        _, value = self.read(released)
        return None if value is None else self.words[int(value)]

    def credit(self, value: float, reference: str) -> float:
        return value if reference == "Yes" else 1.0 - value

    def reduce(self, values: Sequence[float]) -> float | None:
        if len(values) == 1:
            return values[0]
        ranked = Counter(value >= 0.5 for value in values).most_common()
        if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
            return None
        return float(ranked[0][0])


# What models put around a word: white space, Markdown, quotes, code fences.
_MARKUP = " \t\r\n\ufeff*_`\"'“”‘’#>"
# The word, then nothing, or a mark that sets a remark off; "Yes and", "Yes/No", "No-one" have none.
_LEADING = re.compile(
    r"(yes|no)\b[*_`\"'”’]*(?:\s*$|\s*(?:[,;:!(\[，。；：！（–—]|[.-](?=\s|$))\s*(.*)|\s*\n(.*))",
    re.IGNORECASE | re.DOTALL,
)
# The other word in the remark, as an answer: "Yes, no." and "No, but yes", not "Yes, no flaws".
_ECHO = re.compile(
    r"(?:(?:and|or|but)\W+(?P<a>yes|no)\b|\W*(?P<b>yes|no)\b\s*(?:[.,;:!?)]|$))", re.IGNORECASE
)
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
    echo = _ECHO.match(remark)
    other = (echo["a"] or echo["b"]).casefold() if echo else word
    if other != word or _INAPPLICABLE.search(remark):
        return Status.AMBIGUOUS, None
    return Status.ANSWERED, float(word == "yes")


CONTRACTS: dict[str, Contract] = {contract.name: contract for contract in (YesNo(),)}


def contract_named(name: str) -> Contract:
    """The contract called `name`."""
    if name not in CONTRACTS:
        raise unknown("answer scale", name, CONTRACTS)
    return CONTRACTS[name]
