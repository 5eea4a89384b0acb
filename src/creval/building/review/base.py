"""What people look through before a benchmark is used: accept, edit or drop.

A pipeline brings a `Review` of what it made; `web/` shows any of them, a group (mostly: an image) a page. What is
decided is written at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

ACCEPTED, DROPPED, OPEN = "accepted", "dropped", ""
VERDICTS = (ACCEPTED, DROPPED, OPEN)


class ReviewField(NamedTuple):
    """A part of an item that can be changed: words, or one of some choices."""

    name: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewItem:
    """One thing to decide about, such as an instruction or a question.

    `notes` are reasons to look twice, such as what a second model said of it; `facts` is where it comes from.
    """

    id: str
    kind: str
    fields: tuple[ReviewField, ...]
    verdict: str = OPEN
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReviewGroup:
    """What is looked at together: the items about some images, mostly one, by their names.

    `instruction` is what stays in view while its items are read; `new_item` has the fields of an item that can be
    added.
    """

    id: str
    heading: str
    images: Mapping[str, Path]
    items: tuple[ReviewItem, ...]
    instruction: str = ""
    new_item: tuple[ReviewField, ...] = ()


class Review(Protocol):
    """What a pipeline made, to be looked through."""

    title: str

    def groups(self) -> Sequence[str]:
        """Return the ids of all groups, in their order."""

    def group(self, identity: str) -> ReviewGroup:
        """Return a group with its items as they are now."""

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        """Keep what was decided about an item, and its fields as they were changed. What is not right is refused with a
        sentence (`CrevalError`)."""

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        """Add an item to a group that offers fields for one, and return its id. It counts as accepted."""

    def count_undecided(self) -> int:
        """Return how many items nobody has decided about."""
