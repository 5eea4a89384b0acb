"""What was answered, what came of it, and what people say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from creval.core.probe import EditKey


class Status(str, Enum):
    """How a probe ended. Only `ANSWERED` carries a value."""

    ANSWERED = "answered"
    MISSING = "missing"  # the reply says nothing about this question
    INAPPLICABLE = "inapplicable"  # the judge says that the question does not apply
    AMBIGUOUS = "ambiguous"  # the reply answers it in two ways
    UNREADABLE = "unreadable"  # an answer, but not on the scale
    REFUSED = "refused"  # the judge, or a filter before it, declined to answer
    FAILED = "failed"  # there was no reply
    UNASKABLE = "unaskable"  # the question has no text

    __hash__ = str.__hash__  # Enum's own takes ten times as long, and there is one a question

    def __str__(self) -> str:
        return self.value


class Reply(NamedTuple):
    """What one request brought back.

    `text` is what the judge sent, letter by letter, or none where only its parsed answers were
    kept; `origin` tells where it came from. Money is in US dollars, latency in seconds.
    """

    status: Status
    text: str | None = None
    origin: str = ""
    attempt: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    latency: float | None = None


class Verdict(NamedTuple):
    """One probe's outcome for one edit.

    `value` is on the contract's scale (yes/no: 1 is yes) or in the gauge's unit, and none unless
    the status is `ANSWERED`; `said` is the answer in the judge's own words.
    """

    probe: str
    status: Status
    value: float | None = None
    said: str = ""
    explanation: str = ""


@dataclass(frozen=True)
class Rating:
    """A person's word on one edit (`value`), or on two (`choice` is the better one's system, empty
    where neither is better)."""

    rater: str
    edits: tuple[EditKey, ...]
    metric: str
    value: float | None = None
    choice: str | None = None
