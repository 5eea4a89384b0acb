"""Progress of a review, per group.

All groups are read once at the start. After that, a group is read again when its page is opened or changed.
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
"""Filters of the list: all groups, or those with an open, flagged or dropped item."""
_WORD = re.compile(r"\w+")
_MAX_NOTES = 3  # notes shown for a group in the list


class GroupProgress(NamedTuple):
    """Progress of a group. For the search, `text` has the group's words in lower case, each after a space."""

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
        """Return whether the group passes a filter and has a word with each of the given lower-case prefixes."""
        if not all(f" {word}" in self.text for word in words):
            return False
        found = {"open": self.open, "flagged": self.flagged, "dropped": self.dropped}
        return bool(found.get(show, True))


class ReviewProgress:
    """A review and its progress. Only one thread at a time may decide; others may read.

    After `decide` and `add`, the stored progress of the group is outdated until `read` is called.
    """

    def __init__(self, review: Review) -> None:
        self._review = review
        self._groups = {name: summarise_group(self._read(name)) for name in review.groups()}
        self._positions = {name: place for place, name in enumerate(self._groups)}
        self._names_by_address = {to_utf8(name): name for name in self._groups}

    @property
    def groups(self) -> Iterable[GroupProgress]:
        return self._groups.values()

    def resolve_group(self, given: str) -> str:
        """Return the name of the group in a URL. Raises CrevalError if it does not exist."""
        if given not in self._names_by_address:
            raise unknown_name_error("group", given[:200], self._names_by_address)
        return self._names_by_address[given]

    def read(self, group: str) -> ReviewGroup:
        """Read the current state of a group."""
        found = self._read(group)
        self._groups[group] = summarise_group(found)
        return found

    def _read(self, group: str) -> ReviewGroup:
        try:
            return self._review.group(group)
        except (CrevalError, OSError) as error:
            raise UnreadableGroupError(f"{group} cannot be read: {str(error).rstrip('.')}.") from error

    def decide(self, group: str, item: ReviewItem, verdict: str, fields: Mapping[str, str]) -> None:
        """Save a decision about an item. The caller must then `read` the group again."""
        try:
            self._review.decide(group, item.id, verdict, fields)
        except OSError as error:
            raise CrevalError(f"the file could not be written: {error}.") from error

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        """Add an item to a group and return its id. The caller must then `read` the group again."""
        try:
            return self._review.add(group, fields)
        except OSError as error:
            raise CrevalError(f"the file could not be written: {error}.") from error

    def cached_group(self, group: str) -> GroupProgress:
        """Return the progress of a group as of the last time that the group was read."""
        return self._groups[group]

    def total(self) -> GroupProgress:
        """Return the progress summed over all groups."""
        counted = ("total", "accepted", "dropped", "flagged")
        sums = {name: sum(getattr(one, name) for one in self.groups) for name in counted}
        return GroupProgress("", self._review.title, {}, **sums, notes=())

    def listed_groups(self, show: str, query: str = "") -> list[GroupProgress]:
        """Return the groups that pass a filter and have words with all prefixes of a search, in order."""
        words = _WORD.findall(query.casefold())
        return [one for one in self.groups if one.matches(show, words)]

    def counts(self) -> dict[str, int]:
        """Return the number of groups for each filter."""
        return {show: sum(one.matches(show) for one in self.groups) for show in LIST_FILTERS}

    def neighbours(self, group: str, show: str) -> tuple[str | None, str | None]:
        """Return the previous and next group that pass a filter. The group itself need not pass it."""
        place, groups = self._positions[group], list(self.groups)
        before = (one.id for one in reversed(groups[:place]) if one.matches(show))
        behind = (one.id for one in groups[place + 1 :] if one.matches(show))
        return next(before, None), next(behind, None)

    def next_undecided(self, after: str | None, show: str) -> str | None:
        """Return the next group with undecided items that passes a filter. The search wraps around at the end."""
        groups = list(self.groups)
        start = 0 if after is None else self._positions[after] + 1
        turned = groups[start:] + groups[:start]
        return next((one.id for one in turned if one.open and one.matches(show)), None)


class UnreadableGroupError(CrevalError):
    """Raised if an existing group cannot be read."""


def require_list_filter(given: str) -> str:
    """Return a list filter from a URL. Raises CrevalError if it is unknown."""
    return require_known("list", given, LIST_FILTERS)


def summarise_group(group: ReviewGroup) -> GroupProgress:
    """Return the progress of a group."""
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
