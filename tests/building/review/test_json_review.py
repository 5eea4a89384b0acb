"""Reviews of entries in files that people may change at the same time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from creval.building.review.base import ACCEPTED, OPEN, ReviewField, ReviewGroup, ReviewItem
from creval.building.review.json_review import JsonReview, read_verdict, set_verdict
from creval.core.errors import CrevalError
from creval.core.files import read_json, write_json

Names = dict[str, dict[str, Any]]


class NameReview(JsonReview[Names]):
    title = "names"
    loaded = 0

    def files(self) -> list[Path]:
        return [self.folder / "names.json"]

    def load(self) -> Names:
        self.loaded += 1
        return dict(read_json(self.folder / "names.json"))

    def list_groups(self, entries: Names) -> Sequence[str]:
        return list(entries)

    def build_group(self, entries: Names, identity: str) -> ReviewGroup:
        entry = entries[identity]
        item = ReviewItem("name", "name", (ReviewField("name", entry["name"]),), read_verdict(entry))
        return ReviewGroup(identity, identity, {}, (item,))

    def apply(self, entries: Names, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        entries[group][item] = fields[item]
        set_verdict(entries[group], verdict)
        write_json(self.folder / "names.json", entries)


@pytest.fixture
def review(tmp_path: Path) -> NameReview:
    write_json(tmp_path / "names.json", {"a": {"name": "Ada"}, "b": {"name": "Bob"}})
    return NameReview(tmp_path)


def test_a_decision_is_written_and_counted(review: NameReview) -> None:
    assert review.count_undecided() == 2
    review.decide("a", "name", ACCEPTED, {"name": "Ada L."})
    assert review.count_undecided() == 1
    assert json.loads((review.folder / "names.json").read_text())["a"] == {"name": "Ada L.", "review": ACCEPTED}


def test_files_are_read_again_only_when_they_were_written(review: NameReview) -> None:
    assert list(review.groups()) == ["a", "b"]
    review.group("a")
    assert review.loaded == 1
    write_json(review.folder / "names.json", {"c": {"name": "Cleo"}})
    assert list(review.groups()) == ["c"]
    assert review.loaded == 2


def test_refused_decisions_do_not_change_the_review(review: NameReview) -> None:
    review.groups()
    with pytest.raises(CrevalError, match="verdict"):
        review.decide("a", "name", "perhaps", {"name": "Eve"})
    (item,) = review.group("a").items
    assert (item.fields[0].text, item.verdict) == ("Ada", OPEN)
