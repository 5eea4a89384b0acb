"""Built samples of ComplexBench-Edit, to be looked through: is each step of its type, and would the
result be reasonable? A step that is dropped takes its sample with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_edit.release import KINDS, NEEDS, SUBSETS
from creval.building.complexbench.files import Entries, file_of
from creval.building.review.entries import checked, mark, outdate, outdated, verdict_of
from creval.building.review.model import OPEN, Field, ReviewGroup, ReviewItem
from creval.core.errors import known_name
from creval.core.files import state_of, text_of
from creval.store.lock import turn


class ComplexBenchReview:
    """The entries of all subsets, a sample a group and a step an item."""

    title = "ComplexBench-Edit: is each step of its type, and is the result reasonable?"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: tuple[list[object], Entries] | None = None

    @property
    def _entries(self) -> Entries:
        """The entries as the files hold them now: people may change those meanwhile."""
        state = [state_of(file_of(self._folder, subset)) for subset in SUBSETS]
        if self._read is None or self._read[0] != state:
            self._read = state, Entries(self._folder)
        return self._read[1]

    def groups(self) -> Sequence[str]:
        return _groups(self._entries)

    def group(self, identity: str) -> ReviewGroup:
        subset, key, entry = _entry_in(self._entries, identity)
        needs = NEEDS.get(subset, ((),) * 3)
        lines = text_of(entry["new_ins"]).splitlines()
        items = [
            ReviewItem(
                f"step/{at}",
                _kind(at, needs[at - 1]),
                (Field("instruction", line), Field("type", text_of(pair.get("edit_type")), KINDS)),
                verdict_of(pair),
                outdated(pair),
                {
                    shown: text_of(pair[name])
                    for name, shown in _FACTS.items()
                    if pair.get(name) not in (None, "", "nothing")
                },
            )
            for at, (line, pair) in enumerate(zip(lines, entry["edit pair"], strict=True), 1)
        ]
        image = Path(f"{key}-{text_of(entry.get('img_path'))}").name
        picture = self._folder / "data" / "images" / image
        return ReviewGroup(identity, f"{subset}: {key}", {image: picture}, tuple(items))

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        with turn(self._folder):
            entries = Entries(self._folder)
            subset, _, entry = _entry_in(entries, group)
            _decide(subset, entry, item, verdict, fields)
            entries.save([subset])

    def left(self) -> int:
        return sum(
            verdict_of(pair) == OPEN
            for identity in self.groups()
            for pair in _entry_in(self._entries, identity)[2]["edit pair"]
        )


_FACTS = {"ori obj": "changes", "new_obj": "makes", "checked": "the second model said"}


def _groups(entries: Entries) -> list[str]:
    return [
        f"{subset}/{key}"
        for subset, found in entries.subsets.items()
        for key, entry in found.items()
        if _whole(entry)
    ]


def _entry_in(entries: Entries, identity: str) -> tuple[str, str, dict[str, Any]]:
    known_name("sample", identity, _groups(entries))
    subset, _, key = identity.partition("/")
    return subset, key, entries.subsets[subset][key]


def _decide(
    subset: str, entry: dict[str, Any], item: str, verdict: str, fields: Mapping[str, str]
) -> None:
    """Write into a sample what was decided about one of its steps."""
    pairs, lines = entry["edit pair"], text_of(entry["new_ins"]).splitlines()
    places = {f"step/{at}": at - 1 for at in range(1, len(pairs) + 1)}
    at = places[known_name("step", item, places)]
    kind = known_name("edit type", fields.get("type", pairs[at]["edit_type"]), KINDS)
    said = checked(fields.get("instruction", lines[at]), lines[at])
    mark(pairs[at], verdict)
    pairs[at]["edit_type"] = kind
    if said != lines[at]:
        lines[at] = said
        pairs[at].pop("outdated", None)
        for later, needs in zip(pairs, NEEDS.get(subset, ()), strict=False):
            if at in needs:
                outdate(later, f"step {at + 1}, on which it builds, was changed afterwards")
    entry["new_ins"] = "\n".join(lines)
    entry.pop("dropped", None)
    if any(pair.get("dropped") for pair in pairs):
        entry["dropped"] = True


def _kind(number: int, needs: Sequence[int]) -> str:
    upon = " and ".join(f"{needed + 1}" for needed in needs)
    return f"step {number}, upon step {upon}" if upon else f"step {number}"


def _whole(entry: Any) -> bool:
    """Whether an entry has as many lines as edit pairs, so that it can be shown."""
    pairs = entry.get("edit pair") if isinstance(entry, dict) else None
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        return False
    return len(text_of(entry.get("new_ins")).splitlines()) == len(pairs) == 3
