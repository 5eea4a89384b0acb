"""Review of a built ComplexBench-Edit benchmark. Dropping a step drops its sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_edit.release import ALL_SUBSETS, EDIT_TYPES, STEP_DEPENDENCIES
from creval.building.complexbench.files import ComplexBenchEntries, instructions_file
from creval.building.review.base import ReviewField, ReviewGroup, ReviewItem
from creval.building.review.json_review import (
    JsonReview,
    mark_outdated,
    outdated_reasons,
    read_verdict,
    set_verdict,
    validate_instruction,
)
from creval.core.errors import require_known, unknown_name_error
from creval.core.files import coerce_text


class ComplexBenchReview(JsonReview[ComplexBenchEntries]):
    """Review of samples. Each sample is a group, and each step is an item."""

    title = "ComplexBench-Edit: does each step have the right type, and is the result reasonable?"

    def files(self) -> list[Path]:
        return [instructions_file(self.folder, subset) for subset in ALL_SUBSETS]

    def load(self) -> ComplexBenchEntries:
        return ComplexBenchEntries(self.folder)

    def list_groups(self, entries: ComplexBenchEntries) -> Sequence[str]:
        return [
            f"{subset}/{key}"
            for subset, found in entries.subsets.items()
            for key, entry in found.items()
            if _is_complete(entry)
        ]

    def build_group(self, entries: ComplexBenchEntries, identity: str) -> ReviewGroup:
        subset, key, entry = self._find_entry(entries, identity)
        needs = STEP_DEPENDENCIES.get(subset, ((),) * 3)
        lines = coerce_text(entry["new_ins"]).splitlines()
        items = [
            ReviewItem(
                f"step/{at}",
                _step_label(at, needs[at - 1]),
                (ReviewField("instruction", line), ReviewField("type", coerce_text(pair.get("edit_type")), EDIT_TYPES)),
                read_verdict(pair),
                outdated_reasons(pair),
                {
                    shown: coerce_text(pair[name])
                    for name, shown in _FACTS.items()
                    if pair.get(name) not in (None, "", "nothing")
                },
            )
            for at, (line, pair) in enumerate(zip(lines, entry["edit pair"], strict=True), 1)
        ]
        name = Path(f"{key}-{coerce_text(entry.get('img_path'))}").name
        image = self.folder / "data" / "images" / name
        return ReviewGroup(identity, f"{subset}: {key}", {name: image}, tuple(items))

    def apply(
        self, entries: ComplexBenchEntries, group: str, item: str, verdict: str, fields: Mapping[str, str]
    ) -> None:
        subset, _, entry = self._find_entry(entries, group)
        pairs, lines = entry["edit pair"], coerce_text(entry["new_ins"]).splitlines()
        places = {f"step/{at}": at - 1 for at in range(1, len(pairs) + 1)}
        at = places[require_known("step", item, places)]
        kind = require_known("edit type", fields.get("type", pairs[at]["edit_type"]), EDIT_TYPES)
        text = validate_instruction(fields.get("instruction", lines[at]), lines[at])
        set_verdict(pairs[at], verdict)
        pairs[at]["edit_type"] = kind
        if text != lines[at]:
            lines[at] = text
            pairs[at].pop("outdated", None)
            for later, needs in zip(pairs, STEP_DEPENDENCIES.get(subset, ()), strict=False):
                if at in needs:
                    mark_outdated(later, f"it depends on step {at + 1}, which was changed afterwards")
        entry["new_ins"] = "\n".join(lines)
        entry.pop("dropped", None)
        if any(pair.get("dropped") for pair in pairs):
            entry["dropped"] = True
        entries.save([subset])

    def _find_entry(self, entries: ComplexBenchEntries, identity: str) -> tuple[str, str, dict[str, Any]]:
        subset, _, key = identity.partition("/")
        entry: Any = entries.subsets.get(subset, {}).get(key)
        if not _is_complete(entry):
            raise unknown_name_error("sample", identity, self.list_groups(entries))
        return subset, key, entry


_FACTS = {"ori obj": "changed object", "new_obj": "new object", "checked": "second model's opinion"}


def _step_label(number: int, needs: Sequence[int]) -> str:
    earlier = " and ".join(f"{needed + 1}" for needed in needs)
    return f"step {number}, depends on step {earlier}" if earlier else f"step {number}"


def _is_complete(entry: Any) -> bool:
    """Return whether an entry has three instructions (lines) and three edit pairs, as a review requires."""
    pairs = entry.get("edit pair") if isinstance(entry, dict) else None
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        return False
    return len(coerce_text(entry.get("new_ins")).splitlines()) == len(pairs) == 3
