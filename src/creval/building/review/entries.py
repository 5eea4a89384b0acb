"""What a review decides, written into the entries themselves."""

from __future__ import annotations

from typing import Any

from creval.building import text_rules
from creval.building.review.base import ACCEPTED, DROPPED, OPEN, VERDICTS
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, is_dropped


def read_verdict(entry: Any) -> str:
    """What was decided about an entry."""
    if is_dropped(entry):
        return DROPPED
    said = entry.get("review") if isinstance(entry, dict) else None
    return ACCEPTED if said == ACCEPTED else OPEN


def set_verdict(entry: dict[str, Any], verdict: str) -> None:
    """Write down what was decided about an entry."""
    require_known("verdict", verdict, VERDICTS)
    for name in ("review", "dropped"):
        entry.pop(name, None)
    if verdict == DROPPED:
        entry["dropped"] = True
    elif verdict == ACCEPTED:
        entry["review"] = ACCEPTED
        entry.pop("outdated", None)


def mark_outdated(entry: dict[str, Any], why: str) -> None:
    """Write down that an entry rests on words that were changed; if it was accepted, it is open again."""
    entry["outdated"] = why
    entry.pop("review", None)


def outdated_reasons(entry: dict[str, Any]) -> tuple[str, ...]:
    """Why an entry is to be looked at again, if it is."""
    said = coerce_text(entry.get("outdated"))
    return (said,) if said else ()


def merge_user_text(user_text: str, current: str) -> str:
    """A text as somebody sent it, in one line; what they did not touch stays to the letter."""
    return current if user_text == current else " ".join(user_text.split())


def validate_instruction(user_text: str, current: str = "") -> str:
    """An instruction as it was sent; a changed one that cannot stand is refused."""
    text = merge_user_text(user_text, current)
    if text and text == current:
        return current
    if reason := text_rules.find_violation(text, length=text_rules.length_rule(1, 2000)):
        raise CrevalError(f"this instruction cannot stand ({reason}).")
    return text
