"""Reviewers' verdicts, in the file `reviews.jsonl` of a benchmark's folder, and a comparison of named reviewers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from creval.building.review.base import ACCEPTED, DROPPED, ReviewItem
from creval.core.errors import CrevalError
from creval.core.files import atomic_write, coerce_text, file_signature, read_json_lines, replace_lone_surrogates
from creval.stats.agreement import AgreementItem, AnswerTable

VOTE_FILE = "reviews.jsonl"
FINAL = ""
"""Reviewer of decisions that were made without a name. They are final."""
_MAX_NAME = 60
_VALUES = {ACCEPTED: 1.0, DROPPED: 0.0}


class Vote(NamedTuple):
    """A reviewer's verdict on an item. `text` is a digest of the text that the reviewer saw."""

    reviewer: str
    group: str
    item: str
    kind: str
    verdict: str
    text: str


class Votes:
    """Votes of a benchmark's folder. Writers must hold the folder's lock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / VOTE_FILE
        self._cached: tuple[object, dict[tuple[str, str], dict[str, Vote]]] | None = None

    @property
    def by_item(self) -> dict[tuple[str, str], dict[str, Vote]]:
        """The last vote of each reviewer, by group and item."""
        state = file_signature(self.path)
        if self._cached is None or self._cached[0] != state:
            self._cached = state, self._read()
        return self._cached[1]

    def on_text(self, group: str, item: ReviewItem) -> dict[str, Vote]:
        """Return the votes on an item's current text, by reviewer."""
        votes = self.by_item.get((group, item.id), {})
        return {name: vote for name, vote in votes.items() if vote.text == text_digest(item)}

    def save(self, vote: Vote) -> None:
        """Replace the reviewer's previous vote on the item.

        If the new verdict is `OPEN`, only remove the previous vote.
        """
        found = self._read()
        votes = found.setdefault((vote.group, vote.item), {})
        votes.pop(vote.reviewer, None)
        if vote.verdict in _VALUES:
            votes[vote.reviewer] = vote
        lines = (json.dumps(one._asdict(), ensure_ascii=False) for votes in found.values() for one in votes.values())
        atomic_write(self.path, "".join(f"{replace_lone_surrogates(line)}\n" for line in lines))

    def _read(self) -> dict[tuple[str, str], dict[str, Vote]]:
        found: dict[tuple[str, str], dict[str, Vote]] = {}
        if not self.path.is_file():
            return found
        for number, line in read_json_lines(self.path):
            vote = Vote(*(coerce_text(line.get(name)) for name in Vote._fields))
            if vote.verdict not in _VALUES or not vote.item:
                raise CrevalError(f"{self.path}, line {number}, is not a vote. Repair or delete the line.")
            found.setdefault((vote.group, vote.item), {})[vote.reviewer] = vote
        return found


def text_digest(item: ReviewItem) -> str:
    """Return a digest of the text of an item's fields."""
    text = "\x1f".join(part for field in item.fields for part in (field.name, field.text))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def consensus(votes: Iterable[Vote], otherwise: str) -> str:
    """Return the final vote's verdict, else the verdict that all votes share, else `otherwise`."""
    by_reviewer = {vote.reviewer: vote.verdict for vote in votes}
    if FINAL in by_reviewer:
        return by_reviewer[FINAL]
    verdicts = set(by_reviewer.values())
    return verdicts.pop() if len(verdicts) == 1 else otherwise


def check_reviewer(name: str) -> str:
    """Return a reviewer's name without spaces around it. Raises `CrevalError` if it is empty or unusable."""
    found = name.strip()
    if not found or len(found) > _MAX_NAME or not found.isprintable():
        raise CrevalError(f"a reviewer's name has 1 to {_MAX_NAME} printable characters, unlike {name[:80]!r}.")
    return found


class Disagreement(NamedTuple):
    """An item on which reviewers differ: their votes, in the order of the reviewers."""

    group: str
    item: str
    votes: tuple[Vote, ...]


class ReviewComparison(NamedTuple):
    """Votes of named reviewers as a table, and the items on which they differ.

    `counts` is the number of each reviewer's votes. Items whose reviewers saw different texts are left out;
    `other_text` is their number.
    """

    table: AnswerTable
    disagreements: Sequence[Disagreement]
    counts: dict[str, int]
    other_text: int


def compare_reviewers(votes: Votes) -> ReviewComparison:
    """Compare the named reviewers of a benchmark. Raises `CrevalError` if there are fewer than two."""
    named = {
        place: {name: vote for name, vote in given.items() if name != FINAL} for place, given in votes.by_item.items()
    }
    reviewers = sorted({name for given in named.values() for name in given})
    if len(reviewers) < 2:
        who = f"only {reviewers[0]}" if reviewers else "none"
        raise CrevalError(
            f"at least two named reviewers are needed, but {votes.path.parent} has {who}. Use creval review --as NAME."
        )
    items, rows, differ, other_text = [], [], [], 0
    for (group, item), given in sorted(named.items()):
        if len(given) > 1 and len({vote.text for vote in given.values()}) > 1:
            other_text += 1
        elif given:
            kind = next(iter(given.values())).kind
            items.append(AgreementItem(group, kind, {}, True))
            rows.append([_VALUES[given[name].verdict] if name in given else np.nan for name in reviewers])
            if len({vote.verdict for vote in given.values()}) > 1:
                differ.append(Disagreement(group, item, tuple(given[name] for name in reviewers if name in given)))
    counts = {name: sum(name in given for given in named.values()) for name in reviewers}
    values = np.array(rows, dtype=np.float64).reshape(-1, len(reviewers))
    return ReviewComparison(AnswerTable(tuple(items), tuple(reviewers), values), differ, counts, other_text)
