"""The base of reviews whose decisions are written into JSON entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from creval.building.review.base import OPEN, ReviewGroup
from creval.core.files import file_signature
from creval.store.lock import file_lock

E = TypeVar("E")


class JsonReview(ABC, Generic[E]):
    """Review of entries in files. The files are read again when somebody has written them, and
    locked while a decision is written."""

    title: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cached: tuple[list[object], E] | None = None

    @abstractmethod
    def files(self) -> Iterable[Path]:
        """Return the files that are watched."""

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
        """Write a decision into an entry, and the entry into its file."""

    @property
    def entries(self) -> E:
        """The entries as the files hold them now."""
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

    def count_undecided(self) -> int:
        entries = self.entries
        groups = (self.build_group(entries, identity) for identity in self.list_groups(entries))
        return sum(item.verdict == OPEN for group in groups for item in group.items)
