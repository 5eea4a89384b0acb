"""What a review decides, written into the entries themselves."""

from __future__ import annotations

from typing import Any

from creval.building import text_rules
from creval.building.review.model import ACCEPTED, DROPPED, OPEN, VERDICTS
from creval.core.errors import CrevalError, known_name
from creval.core.files import is_dropped, text_of


def verdict_of(entry: Any) -> str:
    """What was decided about an entry."""
    if is_dropped(entry):
        return DROPPED
    said = entry.get("review") if isinstance(entry, dict) else None
    return ACCEPTED if said == ACCEPTED else OPEN


def mark(entry: dict[str, Any], verdict: str) -> None:
    """Write down what was decided about an entry."""
    known_name("verdict", verdict, VERDICTS)
    for name in ("review", "dropped"):
        entry.pop(name, None)
    if verdict == DROPPED:
        entry["dropped"] = True
    elif verdict == ACCEPTED:
        entry["review"] = ACCEPTED
        entry.pop("outdated", None)


def outdate(entry: dict[str, Any], why: str) -> None:
    """Write down that an entry rests on words that were changed; if it was accepted, it is open
    again."""
    entry["outdated"] = why
    entry.pop("review", None)


def outdated(entry: dict[str, Any]) -> tuple[str, ...]:
    """Why an entry is to be looked at again, if it is."""
    said = text_of(entry.get("outdated"))
    return (said,) if said else ()


def as_sent(said: str, there: str) -> str:
    """A text as somebody sent it, in one line; what they did not touch stays to the letter."""
    return there if said == there else " ".join(said.split())


def checked(said: str, there: str = "") -> str:
    """An instruction as it was sent; a changed one that cannot stand is refused."""
    text = as_sent(said, there)
    if text and text == there:
        return there
    if reason := text_rules.broken(text, length=text_rules.length(1, 2000)):
        raise CrevalError(f"this instruction cannot stand ({reason}).")
    return text
