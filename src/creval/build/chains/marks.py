"""What a review decides, written into the entries of chains themselves."""

from __future__ import annotations

from typing import Any

from creval.benchmarks.complex_edit_rows import is_dropped
from creval.benchmarks.files import text_of
from creval.build.chains import rules
from creval.build.review import ACCEPTED, DROPPED, OPEN, VERDICTS
from creval.core.errors import CrevalError, known_name


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


def checked(text: str) -> str:
    """A changed instruction, in one line; one that cannot stand is refused."""
    text = " ".join(text.split())
    if reason := rules.broken(text, length=rules.length(1, 2000)):
        raise CrevalError(f"this instruction cannot stand ({reason}).")
    return text
