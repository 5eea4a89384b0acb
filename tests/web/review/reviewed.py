"""An in-memory review for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from creval.building.review.base import ACCEPTED, DROPPED, OPEN, ReviewField, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError


class Kept:
    """In-memory review. It refuses empty texts, and records reads and decisions."""

    def __init__(self, groups: Sequence[ReviewGroup], title: str = "benches/mine") -> None:
        self.title = title
        self.kept = {group.id: group for group in groups}
        self.reads = 0
        self.decided: list[tuple[str, str, str, dict[str, str]]] = []

    def groups(self) -> Sequence[str]:
        return list(self.kept)

    def group(self, identity: str) -> ReviewGroup:
        self.reads += 1
        return self.kept[identity]

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        if not fields.get("text", "x").strip():
            raise CrevalError("a question needs words; drop it if nothing is to be asked.")
        self.decided.append((group, item, verdict, dict(fields)))
        found = self.kept[group]
        items = [
            replace(one, verdict=verdict, fields=changed(one, fields)) if one.id == item else one for one in found.items
        ]
        self.kept[group] = replace(found, items=tuple(items))

    def add(self, group: str, fields: Mapping[str, str]) -> str:
        if not fields["text"].strip():
            raise CrevalError("a question needs words.")
        found = self.kept[group]
        new = ReviewItem(f"new-{len(found.items)}", "question", (ReviewField("text", fields["text"]),), ACCEPTED)
        self.kept[group] = replace(found, items=(*found.items, new))
        return new.id

    def count_undecided(self) -> int:
        items = (item for group in self.kept.values() for item in group.items)
        return sum(item.verdict == OPEN for item in items)

    def item(self, group: str, item: str) -> ReviewItem:
        return next(one for one in self.kept[group].items if one.id == item)

    def text(self, group: str, item: str) -> str:
        return self.item(group, item).fields[0].text


def sorts_dropped_last(review: Kept) -> None:
    """Make a review sort dropped items to the end."""
    decide = review.decide

    def sorting(group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        decide(group, item, verdict, fields)
        items = sorted(review.kept[group].items, key=lambda one: one.verdict == DROPPED)
        review.kept[group] = replace(review.kept[group], items=tuple(items))

    review.decide = sorting  # type: ignore[method-assign]


def changed(item: ReviewItem, fields: Mapping[str, str]) -> tuple[ReviewField, ...]:
    return tuple(field._replace(text=fields[field.name]) for field in item.fields)


def instruction(text: str = "Give the cat a red hat.") -> ReviewItem:
    dimensions = ("Surreal Fantasy", "Commercial Design", "Derivative Characters", "Others", "None")
    fields = (ReviewField("text", text), ReviewField("dimension", "Commercial Design", dimensions))
    return ReviewItem("instruction", "Instruction", fields, facts={"writer": "model-w"})


def question(name: str, text: str, *, verdict: str = OPEN, notes: tuple[str, ...] = ()) -> ReviewItem:
    fields = (
        ReviewField("text", text),
        ReviewField("reference", "Yes", ("Yes", "No")),
        ReviewField("weight", "1", ("1", "2", "3")),
    )
    kind = name.partition("/")[0]
    return ReviewItem(name, kind, fields, verdict, notes, {"asker": "model-a", "reply": "17"})


def group(name: str, image: Path | None = None, *items: ReviewItem) -> ReviewGroup:
    made = items or (
        instruction(),
        question("IF/1", "Does the cat wear a red hat?"),
        question("VC/1", "Is it the same cat?", notes=("On the source alone it is answered No.",)),
    )
    images = {image.name: image} if image else {}
    return ReviewGroup(name, f"Give the cat of {name} a red hat.", images, made)
