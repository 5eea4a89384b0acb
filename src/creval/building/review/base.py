"""Review of a built benchmark by people, who accept, edit or drop its items.

Each kind of benchmark has a `Review`. `web/` shows any of them, with one group (usually one image) per page. Decisions
are written at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

ACCEPTED, DROPPED, OPEN = "accepted", "dropped", ""
VERDICTS = (ACCEPTED, DROPPED, OPEN)


class ReviewField(NamedTuple):
    """An editable part of an item: free text, or one of several choices."""

    name: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReviewItem:
    """One item to decide about, such as an instruction or a question.

    - `notes`: reasons for a closer look, such as the opinion of a second model.
    - `facts`: provenance of the item.
    """

    id: str
    kind: str
    fields: tuple[ReviewField, ...]
    verdict: str = OPEN
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReviewGroup:
    """Items that are shown together, usually all items about one image.

    - `images`: image files by name.
    - `instruction`: text that stays visible above the items.
    - `new_item`: fields of an item that can be added. Empty if none can be added.
    """

    id: str
    heading: str
    images: Mapping[str, Path]
    items: tuple[ReviewItem, ...]
    instruction: str = ""
    new_item: tuple[ReviewField, ...] = ()


class Review(Protocol):
    """A built benchmark under review."""

    title: str

    def groups(self) -> Sequence[str]:
        """Return the ids of all groups, in the order of the pages."""

    def group(self, identity: str) -> ReviewGroup:
        """Return a group with the current state of its items."""

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        """Save the verdict on an item and its changed fields. Raises `CrevalError` if they are invalid."""

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        """Add an item to a group with `new_item`, and return its id. The item counts as accepted."""

    def count_undecided(self) -> int:
        """Return the number of items without a verdict."""
