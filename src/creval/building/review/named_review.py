"""Review by several named people, who do not see each other's verdicts.

If all named reviewers of an item agree, the benchmark gets their verdict. If they differ, the item is undecided until
someone reviews it without a name. That decision is final. A vote counts only for the text that the reviewer saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from creval.building.review.base import ACCEPTED, OPEN, VERDICTS, ReviewGroup, ReviewItem
from creval.building.review.json_review import JsonReview
from creval.building.review.votes import FINAL, Vote, Votes, consensus, text_digest
from creval.core.errors import require_known
from creval.store.lock import file_lock


class NamedReview:
    """A review under a reviewer's name, or the final review without a name (`FINAL`).

    Under a name, it shows that reviewer's verdicts. Without one, it shows the common verdicts and notes where reviewers
    disagree.
    """

    def __init__(self, review: JsonReview[Any], reviewer: str = FINAL) -> None:
        self._review, self._reviewer, self._votes = review, reviewer, Votes(review.folder)
        self.title = f"{review.title} · {reviewer}" if reviewer else review.title

    def groups(self) -> Sequence[str]:
        return self._review.groups()

    def group(self, identity: str) -> ReviewGroup:
        group = self._review.group(identity)
        return replace(group, items=tuple(self._show(identity, item) for item in group.items))

    def _show(self, group: str, item: ReviewItem) -> ReviewItem:
        """Return an item with the reviewer's own verdict. In the final review, add a note if reviewers disagree."""
        votes = self._votes.on_text(group, item)
        if self._reviewer:
            own = votes.get(self._reviewer)
            return replace(item, verdict=own.verdict if own else OPEN)
        if FINAL in votes or len({vote.verdict for vote in votes.values()}) < 2:
            return item
        said = ", ".join(f"{name} {vote.verdict}" for name, vote in sorted(votes.items()))
        return replace(item, notes=(*item.notes, f"the reviewers disagree: {said}"))

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        require_known("verdict", verdict, VERDICTS)
        with file_lock(self._review.folder):
            before = self._find(group, item)
            shared = verdict
            if before and all(fields.get(field.name, field.text) == field.text for field in before.fields):
                votes = {**self._votes.on_text(group, before), self._reviewer: self._vote(group, before, verdict)}
                given = [vote for vote in votes.values() if vote.verdict != OPEN]
                shared = consensus(given, OPEN)
            self._review.apply(self._review.load(), group, item, shared, fields)
            after = self._find(group, item)
            if after:
                self._votes.save(self._vote(group, after, verdict))

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        with file_lock(self._review.folder):
            added = self._review.apply_addition(self._review.load(), group, fields)
            item = self._find(group, added)
            if item:
                self._votes.save(self._vote(group, item, ACCEPTED))
            return added

    def count_undecided(self) -> int:
        if not self._reviewer:
            return self._review.count_undecided()
        groups = (self.group(identity) for identity in self.groups())
        return sum(item.verdict == OPEN for group in groups for item in group.items)

    def _find(self, group: str, item: str) -> ReviewItem | None:
        return next((one for one in self._review.group(group).items if one.id == item), None)

    def _vote(self, group: str, item: ReviewItem, verdict: str) -> Vote:
        return Vote(self._reviewer, group, item.id, item.kind, verdict, text_digest(item))
