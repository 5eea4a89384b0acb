"""How far a review is, group by group.

All groups are read once at the start; after that, each when its page is opened or something in it is decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from creval.building.review.base import ACCEPTED, DROPPED, Review, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError, require_known, unknown_name_error
from creval.web.common.pages import to_utf8

LIST_FILTERS = ("", "open", "flagged", "dropped")
"""Which groups a list can show: all, or those with such an item."""
_WORD = re.compile(r"\w+")
_MAX_NOTES = 3  # reasons that a list gives for a group


class GroupProgress(NamedTuple):
    """How far a group is."""

    id: str
    heading: str
    images: Mapping[str, Path]
    total: int
    accepted: int
    dropped: int
    flagged: int
    notes: tuple[str, ...]
    text: str = ""

    @property
    def decided(self) -> int:
        return self.accepted + self.dropped

    @property
    def open(self) -> int:
        return self.total - self.decided

    def matches(self, show: str, words: Sequence[str] = ()) -> bool:
        """Whether a list shows it, and words that begin with all of these, in lower case, stand in it."""
        if not all(f" {word}" in self.text for word in words):
            return False
        found = {"open": self.open, "flagged": self.flagged, "dropped": self.dropped}
        return bool(found.get(show, True))


class ReviewProgress:
    """A review and how far it is. One thread at a time decides; others may read."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._groups = {name: summarise_group(self._read(name)) for name in review.groups()}
        self._positions = {name: place for place, name in enumerate(self._groups)}
        self._names_by_address = {to_utf8(name): name for name in self._groups}

    @property
    def groups(self) -> Iterable[GroupProgress]:
        return self._groups.values()

    def resolve_group(self, given: str) -> str:
        """The group that an address names; one that is not there is an error."""
        if given not in self._names_by_address:
            raise unknown_name_error("group", given[:200], self._names_by_address)
        return self._names_by_address[given]

    def read(self, group: str) -> ReviewGroup:
        """A group as it is now."""
        found = self._read(group)
        self._groups[group] = summarise_group(found)
        return found

    def _read(self, group: str) -> ReviewGroup:
        try:
            return self._review.group(group)
        except (CrevalError, OSError) as error:
            raise UnreadableGroupError(f"{group} cannot be read: {str(error).rstrip('.')}.") from error

    def decide(self, group: str, item: ReviewItem, verdict: str, fields: Mapping[str, str]) -> None:
        """Keep what was decided about an item; the group has to be read again."""
        try:
            self._review.decide(group, item.id, verdict, fields)
        except OSError as error:
            raise CrevalError(f"it could not be written: {error}.") from error

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        """Add an item to a group; the group has to be read again."""
        try:
            return self._review.add(group, fields)
        except OSError as error:
            raise CrevalError(f"it could not be written: {error}.") from error

    def cached_group(self, group: str) -> GroupProgress:
        """A group as it was when it was last read."""
        return self._groups[group]

    def total(self) -> GroupProgress:
        """All groups together."""
        counted = ("total", "accepted", "dropped", "flagged")
        sums = {name: sum(getattr(one, name) for one in self.groups) for name in counted}
        return GroupProgress("", self._review.title, {}, **sums, notes=())

    def listed_groups(self, show: str, query: str = "") -> list[GroupProgress]:
        """The groups that a list shows, in their order; those with all words of a search, or words that begin so."""
        words = _WORD.findall(query.casefold())
        return [one for one in self.groups if one.matches(show, words)]

    def counts(self) -> dict[str, int]:
        """How many groups each list shows."""
        return {show: sum(one.matches(show) for one in self.groups) for show in LIST_FILTERS}

    def neighbours(self, group: str, show: str) -> tuple[str | None, str | None]:
        """The groups before and behind one in a list, whether it is itself in that list or not."""
        place, groups = self._positions[group], list(self.groups)
        before = (one.id for one in reversed(groups[:place]) if one.matches(show))
        behind = (one.id for one in groups[place + 1 :] if one.matches(show))
        return next(before, None), next(behind, None)

    def next_undecided(self, after: str | None, show: str) -> str | None:
        """The next group of a list with something to decide; behind the last comes the first."""
        groups = list(self.groups)
        start = 0 if after is None else self._positions[after] + 1
        turned = groups[start:] + groups[:start]
        return next((one.id for one in turned if one.open and one.matches(show)), None)


class UnreadableGroupError(CrevalError):
    """A group that is there and cannot be read."""


def require_list_filter(given: str) -> str:
    """The list that an address names."""
    return require_known("list", given, LIST_FILTERS)


def summarise_group(group: ReviewGroup) -> GroupProgress:
    """How far a group is."""
    verdicts = [item.verdict for item in group.items]
    notes = dict.fromkeys(note for item in group.items for note in item.notes)
    texts = [group.id, group.heading, *(field.text for item in group.items for field in item.fields)]
    return GroupProgress(
        group.id,
        group.heading,
        group.images,
        len(verdicts),
        verdicts.count(ACCEPTED),
        verdicts.count(DROPPED),
        sum(bool(item.notes) for item in group.items),
        tuple(notes)[:_MAX_NOTES],
        "".join(f" {word}" for text in texts for word in _WORD.findall(text.casefold())),
    )
