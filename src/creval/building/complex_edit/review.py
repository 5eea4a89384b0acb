"""Review of a built Complex-Edit benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complex_edit.atomic_operations import OPERATIONS
from creval.benchmarks.complex_edit.rows import find_row_files
from creval.building.complex_edit.files import SPLIT
from creval.building.review.base import ReviewField, ReviewGroup, ReviewItem
from creval.building.review.json_review import (
    JsonReview,
    mark_outdated,
    outdated_reasons,
    read_verdict,
    set_verdict,
    validate_instruction,
)
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text, read_json, write_json


class ComplexEditReview(JsonReview[dict[str, Path]]):
    """Review of a benchmark's rows. Dropped instructions are left out of the benchmark.

    Dropping an atomic instruction also drops all compounds that contain it.
    """

    title = "Complex-Edit: atomic and compound instructions"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._rows = {path.stem: path for path in find_row_files(folder).get(SPLIT, ()) if _read_row(path)}

    def files(self) -> Sequence[Path]:
        return ()  # each row is read whenever it is shown

    def load(self) -> dict[str, Path]:
        return self._rows

    def list_groups(self, entries: dict[str, Path]) -> Sequence[str]:
        return list(entries)

    def build_group(self, entries: dict[str, Path], identity: str) -> ReviewGroup:
        path, content = _load_row(entries, identity)
        edit = content["edit"]
        items = [
            ReviewItem(
                f"atomic/{at}",
                f"atomic instruction {at}",
                (
                    ReviewField("instruction", coerce_text(step.get("instruction"))),
                    ReviewField("operation", coerce_text(step.get("name")), OPERATIONS),
                ),
                read_verdict(step),
                _notes(step),
                _select_facts(step, before="before simplification", reason="reason"),
            )
            for at, step in enumerate(edit["sequence"], 1)
        ]
        items += [
            ReviewItem(
                f"compound/{at}",
                f"C{at}",
                (ReviewField("instruction", coerce_text(entry.get("compound_instruction"))),),
                read_verdict(entry),
                outdated_reasons(entry),
                _select_facts(entry, reasoning="reasoning"),
            )
            for at, entry in enumerate(edit["compound"], 1)
        ]
        heading = coerce_text(content.get("picture")) or identity
        name = Path(coerce_text(content.get("image"))).name
        images = {name: path.parent / name} if name else {}
        return ReviewGroup(identity, heading, images, tuple(items))

    def apply(self, entries: dict[str, Path], group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        path, content = _load_row(entries, group)
        kind, _, number = item.partition("/")
        steps = content["edit"].get({"atomic": "sequence", "compound": "compound"}.get(kind))
        if not steps or number not in {f"{n}" for n in range(1, len(steps) + 1)}:
            raise CrevalError(f"{group} has no item {item!r}.")
        entry = steps[int(number) - 1]
        set_verdict(entry, verdict)
        if "operation" in fields and kind == "atomic":
            entry["name"] = require_known("operation", fields["operation"], OPERATIONS)
        if "instruction" in fields:
            _change_instruction(content["edit"], kind, int(number), fields["instruction"])
        write_json(path, content)


def _load_row(rows: Mapping[str, Path], identity: str) -> tuple[Path, dict[str, Any]]:
    path = rows[require_known("row", identity, rows)]
    content = _read_row(path)
    if content is None:
        raise CrevalError(f"{path} no longer contains a row that creval can read.")
    return path, content


def _change_instruction(edit: dict[str, Any], kind: str, number: int, user_text: str) -> None:
    """Change an instruction, and mark the compounds that contain it as outdated."""
    name = "instruction" if kind == "atomic" else "compound_instruction"
    entry = edit["sequence" if kind == "atomic" else "compound"][number - 1]
    current = coerce_text(entry.get(name))
    user_text = validate_instruction(user_text, current)
    if user_text == current:
        return
    entry[name] = user_text
    entry.pop("outdated", None)
    if number == 1:  # C1 is the first atomic instruction
        edit["sequence"][0]["instruction"] = edit["compound"][0]["compound_instruction"] = user_text
    if kind == "atomic" or number == 1:
        for later in edit["compound"][max(number, 2) - 1 :]:
            mark_outdated(later, f"it contains atomic instruction {number}, which was changed afterwards")


def _read_row(path: Path) -> dict[str, Any] | None:
    """Return the row of a file, or None if it is malformed. `creval bench` reports malformed rows."""
    try:
        content = read_json(path)
    except CrevalError:
        return None
    edit = content.get("edit") if isinstance(content, dict) else None
    parts = [edit.get(name) for name in ("sequence", "compound")] if isinstance(edit, dict) else [None]
    is_row = all(isinstance(part, list) and part and all(isinstance(one, dict) for one in part) for part in parts)
    return dict(content) if is_row else None


def _notes(step: Mapping[str, Any]) -> tuple[str, ...]:
    reason = coerce_text(step.get("unsimplified"))
    return (f"not simplified: {reason}",) if reason else ()


def _select_facts(entry: Mapping[str, Any], **names: str) -> dict[str, str]:
    return {shown: coerce_text(entry[name]) for name, shown in names.items() if entry.get(name)}
