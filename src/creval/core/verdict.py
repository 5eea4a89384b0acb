"""Outcomes of probes (questions and measurements)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class VerdictStatus(str, Enum):
    """Status of a probe. Only a probe that is `ANSWERED` has a value."""

    ANSWERED = "answered"
    MISSING = "missing"  # the reply says nothing about this question
    INAPPLICABLE = "inapplicable"  # the judge says that the question does not apply
    AMBIGUOUS = "ambiguous"  # the reply gives two different answers
    UNREADABLE = "unreadable"  # an answer, but not on the scale
    REFUSED = "refused"  # the judge, or a content filter, declined to answer
    FAILED = "failed"  # there was no reply
    UNASKABLE = "unaskable"  # the question has no text

    __hash__ = str.__hash__  # ten times as fast as Enum's; each question is hashed

    def __str__(self) -> str:
        return self.value


class Verdict(NamedTuple):
    """One probe's outcome for one edit.

    `value` is on the question's scale (yes/no: 1 is yes) or in the metric's unit. It is None unless the status is
    `ANSWERED`.
    """

    probe: str
    status: VerdictStatus
    value: float | None = None
    raw_answer: str = ""
    explanation: str = ""
