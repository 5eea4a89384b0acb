"""Base class of reviews that store verdicts in the entries of JSON files, and the format of a stored verdict."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from creval.building import text_rules
from creval.building.review.base import ACCEPTED, DROPPED, OPEN, VERDICTS, ReviewGroup
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, file_signature, is_dropped
from creval.store.lock import file_lock

E = TypeVar("E")


class JsonReview(ABC, Generic[E]):
    """Review of entries in JSON files.

    Files are read again after they have changed. The folder is locked while a decision is written.
    """

    title: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cached: tuple[list[object], E] | None = None

    @abstractmethod
    def files(self) -> Iterable[Path]:
        """Return the files that are checked for changes."""

    @abstractmethod
    def load(self) -> E:
        """Read all entries."""

    @abstractmethod
    def list_groups(self, entries: E) -> Sequence[str]:
        """Return the ids of all groups, in their order."""

    @abstractmethod
    def build_group(self, entries: E, identity: str) -> ReviewGroup:
        """Return a group with its items."""

    @abstractmethod
    def apply(self, entries: E, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        """Store a decision in its entry, and write the entry's file."""

    @property
    def entries(self) -> E:
        """Current entries of the files."""
        state = [file_signature(path) for path in self.files()]
        if self._cached is None or self._cached[0] != state:
            self._cached = state, self.load()
        return self._cached[1]

    def groups(self) -> Sequence[str]:
        return self.list_groups(self.entries)

    def group(self, identity: str) -> ReviewGroup:
        return self.build_group(self.entries, identity)

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        with file_lock(self.folder):
            self.apply(self.load(), group, item, verdict, fields)

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        with file_lock(self.folder):
            return self.apply_addition(self.load(), group, fields)

    def apply_addition(self, entries: E, group: str, fields: Mapping[str, str]) -> str:  # noqa: ARG002
        """Write a new item to its file, and return its id."""
        raise CrevalError(f"items cannot be added to {group}.")

    def count_undecided(self) -> int:
        entries = self.entries
        groups = (self.build_group(entries, identity) for identity in self.list_groups(entries))
        return sum(item.verdict == OPEN for group in groups for item in group.items)


def read_verdict(entry: Any) -> str:
    """Return the verdict that is stored in an entry."""
    if is_dropped(entry):
        return DROPPED
    verdict = entry.get("review") if isinstance(entry, dict) else None
    return ACCEPTED if verdict == ACCEPTED else OPEN


def set_verdict(entry: dict[str, Any], verdict: str) -> None:
    """Store a verdict in an entry."""
    require_known("verdict", verdict, VERDICTS)
    for name in ("review", "dropped"):
        entry.pop(name, None)
    if verdict == DROPPED:
        entry["dropped"] = True
    elif verdict == ACCEPTED:
        entry["review"] = ACCEPTED
        entry.pop("outdated", None)


def mark_outdated(entry: dict[str, Any], why: str) -> None:
    """Mark an entry as outdated because a text that it depends on has changed. An accepted entry is undecided again."""
    entry["outdated"] = why
    entry.pop("review", None)


def outdated_reasons(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return why an entry is outdated, or () if it is not."""
    reason = coerce_text(entry.get("outdated"))
    return (reason,) if reason else ()


def merge_user_text(user_text: str, current: str) -> str:
    """Return a text that a user sent in a form, on one line. If unchanged, return it exactly as it is stored."""
    return current if user_text == current else " ".join(user_text.split())


def validate_instruction(user_text: str, current: str = "") -> str:
    """Return an instruction that a user sent in a form. Raises `CrevalError` if it was changed and is invalid."""
    text = merge_user_text(user_text, current)
    if text and text == current:
        return current
    if reason := text_rules.find_violation(text, length=text_rules.length_rule(1, 2000)):
        raise CrevalError(f"this instruction is invalid ({reason}).")
    return text
