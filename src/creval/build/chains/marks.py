"""What a review decides, written into the entries of chains themselves."""

from __future__ import annotations

from typing import Any

from creval.benchmarks.complex_edit_rows import is_dropped
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


def checked(text: str) -> str:
    """A changed instruction, in one line; one that cannot stand is refused."""
    text = " ".join(text.split())
    if reason := rules.broken(text, length=rules.length(1, 2000)):
        raise CrevalError(f"this instruction cannot stand ({reason}).")
    return text
