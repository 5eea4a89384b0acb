"""Built rows of Complex-Edit, to be looked through by people, instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complex_edit.rows import row_files
from creval.building.complex_edit.files import SPLIT
from creval.building.complex_edit.operations import OPERATIONS
from creval.building.review.entries import checked, mark, outdate, outdated, verdict_of
from creval.building.review.model import OPEN, Field, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError, known_name
from creval.core.files import read_json, text_of, write_json
from creval.store.lock import turn


class ComplexEditReview:
    """Complex-Edit's rows: what is dropped is left out, with an atomic edit all that contain it."""

    title = "Complex-Edit: atomic edits and their compounds"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = {
            path.stem: path for path in row_files(folder).get(SPLIT, ()) if _row_in(path)
        }

    def groups(self) -> Sequence[str]:
        return list(self._files)

    def group(self, identity: str) -> ReviewGroup:
        path, content = self._row(identity)
        edit = content["edit"]
        items = [
            ReviewItem(
                f"atomic/{at}",
                f"atomic edit {at}",
                (
                    Field("instruction", text_of(step.get("instruction"))),
                    Field("operation", text_of(step.get("name")), OPERATIONS),
                ),
                verdict_of(step),
                _notes(step),
                _facts(step, before="before it was made short", reason="why"),
            )
            for at, step in enumerate(edit["sequence"], 1)
        ]
        items += [
            ReviewItem(
                f"compound/{at}",
                f"C{at}",
                (Field("instruction", text_of(entry.get("compound_instruction"))),),
                verdict_of(entry),
                outdated(entry),
                _facts(entry, reasoning="how"),
            )
            for at, entry in enumerate(edit["compound"], 1)
        ]
        heading = text_of(content.get("picture")) or identity
        name = Path(text_of(content.get("image"))).name
        pictures = {name: path.parent / name} if name else {}
        return ReviewGroup(identity, heading, pictures, tuple(items))

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        with turn(self._folder):
            path, content = self._row(group)
            kind, _, number = item.partition("/")
            entries = content["edit"].get({"atomic": "sequence", "compound": "compound"}.get(kind))
            if not entries or number not in {f"{n}" for n in range(1, len(entries) + 1)}:
                raise CrevalError(f"there is no {item!r} in {group}.")
            entry = entries[int(number) - 1]
            mark(entry, verdict)
            if "operation" in fields and kind == "atomic":
                entry["name"] = known_name("operation", fields["operation"], OPERATIONS)
            if "instruction" in fields:
                _change(content["edit"], kind, int(number), fields["instruction"])
            write_json(path, content)

    def left(self) -> int:
        return sum(
            verdict_of(entry) == OPEN
            for identity in self._files
            for entry in _entries(self._row(identity)[1])
        )

    def _row(self, identity: str) -> tuple[Path, dict[str, Any]]:
        path = self._files[known_name("row", identity, self._files)]
        content = _row_in(path)
        if content is None:
            raise CrevalError(f"{path} is not a row that creval can read any more.")
        return path, content


def _change(edit: dict[str, Any], kind: str, number: int, said: str) -> None:
    """Give an instruction other words; what contains an atomic one was written with the old."""
    name = "instruction" if kind == "atomic" else "compound_instruction"
    entry = edit["sequence" if kind == "atomic" else "compound"][number - 1]
    there = text_of(entry.get(name))
    said = checked(said, there)
    if said == there:
        return
    entry[name] = said
    entry.pop("outdated", None)
    if number == 1:  # C1 is the first atomic instruction
        edit["sequence"][0]["instruction"] = edit["compound"][0]["compound_instruction"] = said
    if kind == "atomic" or number == 1:
        for later in edit["compound"][max(number, 2) - 1 :]:
            outdate(later, f"atomic edit {number}, which it contains, was changed afterwards")


def _row_in(path: Path) -> dict[str, Any] | None:
    """A file's row, if it has the form of one; `creval bench` tells about the others."""
    try:
        content = read_json(path)
        if all(isinstance(entry, dict) for entry in _entries(content)):
            return dict(content)
    except (CrevalError, AttributeError):
        pass
    return None


def _entries(content: Any) -> Iterator[Any]:
    edit = content.get("edit")
    for name in ("sequence", "compound"):
        entries = edit.get(name) if isinstance(edit, dict) else None
        if not isinstance(entries, list) or not entries:
            raise CrevalError(f"a row has no {name}.")
        yield from entries


def _notes(step: Mapping[str, Any]) -> tuple[str, ...]:
    said = text_of(step.get("unsimplified"))
    return (f"it was not made shorter: {said}",) if said else ()


def _facts(entry: Mapping[str, Any], **names: str) -> dict[str, str]:
    return {shown: text_of(entry[name]) for name, shown in names.items() if entry.get(name)}
