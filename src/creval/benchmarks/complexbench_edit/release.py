"""ComplexBench-Edit's released instructions as a dataset.

Layout: `data/instructions/SUBSET/final_update_v2.json`, from a key to `img_path`, `new_ins` (one
line a step) and `edit pair` (a type, an old and a new object for each step). Source pictures are
named `KEY-IMG_PATH`, wherever they lie in the folder. Five keys occur in two subsets, so a sample's
id is `SUBSET/KEY`. Boxes come from `bbox` in the edit pairs, or from COCO's annotations in the
folder. `creval build` writes the same, with `made` (how) and, after a review, `dropped`.
"""

from __future__ import annotations

import filecmp
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_edit.coco_boxes import (
    Annotated,
    annotation_files,
    boxes_of,
    read_boxes,
)
from creval.core.benchmark import Dataset, Finding, Placed
from creval.core.errors import CrevalError
from creval.core.files import clean_text, files_below, is_dropped, read_json, text_of
from creval.core.images import ImageError, size_of
from creval.core.sample import Box, Sample, Step
from creval.core.schema import Level

# In the paper's order and words.
SUBSETS = {
    "COCO-three-obj": "Parallel, Obj.",
    "COCO-two-obj-one-attr": "Parallel, Obj.-At.",
    "COCO-obj-attr-global": "Parallel, Obj.-At.-G.",
    "two-chain": "Two-chain",
    "three-chain": "Three-chain",
}
GLOBAL = "COCO-obj-attr-global"
"""The subset in which a step changes the whole picture."""
# Which steps each step builds on, where any does.
NEEDS: dict[str, tuple[tuple[int, ...], ...]] = {
    "two-chain": ((), (0,), ()),
    "three-chain": ((), (0,), (1,)),
}
KINDS = (
    "add object",
    "change object",
    "delete object",
    "color",
    "pose",
    "material",
    "content",
    "text",
    "change background",
    "change style",
)
LEVELS = (
    Level("overall", "overall", ("overall",), of="subset"),
    Level("subset", "subsets", tuple(SUBSETS)),
)
_FILE = "final_update_v2.json"
_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
_DRAWN = re.compile(rf"(?:.*/)?({'|'.join(SUBSETS)})/testResults_([0-9]+)/([^/]+)/\3_1")


def recognise(path: Path) -> Path | None:
    """The folder that holds the subsets' instructions, if `path` is one or is in one."""
    for folder in (path, path.parent):
        if any(_file(folder, subset) for subset in SUBSETS):
            return folder
    return None


def _file(folder: Path, subset: str) -> Path | None:
    """A subset's file; that into which the authors' script wrote boxes comes first."""
    paths = (
        inside / "instructions" / subset / f"{start}{_FILE}"
        for inside in (folder, folder / "data")
        for start in ("updated_", "")
    )
    return next((path for path in paths if path.is_file()), None)


def load(folder: Path) -> Dataset:
    """The samples of all subsets that are there, with every oddity as a finding."""
    folder = folder.resolve()
    findings: list[Finding] = []
    samples: list[Sample] = []
    pictures = _pictures(folder)
    entries = {subset: _entries(folder, subset, findings) for subset in SUBSETS}
    files = annotation_files(folder)
    numbers = {_number(entry) for found in entries.values() for entry in found.values()}
    objects = read_boxes(files, numbers) if files else {}
    for subset, found in entries.items():
        for key, entry in found.items():
            if is_dropped(entry):
                continue  # somebody has taken it out
            annotated = objects.get(_number(entry), ())
            sample = _sample(subset, clean_text(key), entry, folder, pictures, annotated, findings)
            if sample is not None:
                samples.append(sample)
    if not samples:
        raise CrevalError(f"{folder} holds no sample that can be used.")
    return Dataset(
        "complexbench-edit",
        folder,
        tuple(samples),
        findings=tuple(findings),
        made_by=_made_by(entries),
        levels=LEVELS,
        place=place,
    )


def _entries(folder: Path, subset: str, findings: list[Finding]) -> dict[str, Any]:
    path = _file(folder, subset)
    if path is None:
        note = "the subset is absent; the overall mean is of the others"
        findings.append(Finding("no subset", subset, note=note))
        return {}
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise CrevalError(f"{path} should hold an object of samples by their keys.")
    return entries


def _made_by(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Which model wrote the instructions, where the entries of `creval build` say one."""
    made = (entry.get("made") for found in entries.values() for entry in found.values()
            if isinstance(entry, dict))  # fmt: skip
    writers = {text_of(facts.get("writer")) for facts in made if isinstance(facts, dict)} - {""}
    return {"writer": writers.pop()} if len(writers) == 1 else {}


def place(path: str) -> Placed | None:
    """The sample and the draw of an edit in the authors' layout of results.

    >>> place("two-chain/testResults_42/198641/198641_1")
    Placed(sample='two-chain/198641', draw=42, strategy='')
    """
    match = _DRAWN.fullmatch(path)
    return Placed(f"{match[1]}/{match[3]}", int(match[2])) if match else None


def _pictures(folder: Path) -> dict[str, list[Path]]:
    """The pictures in a folder by name; of files with the same content the first."""
    found: dict[str, list[Path]] = {}
    for name in files_below(folder):
        path = folder / name
        if path.suffix.casefold() in _PICTURES:
            others = found.setdefault(path.name, [])
            if not any(filecmp.cmp(path, other, shallow=False) for other in others):
                others.append(path)
    return found


def _number(entry: Any) -> int:
    """The number of a picture in COCO, which is its file's name; otherwise one that none has."""
    stem = Path(text_of(entry.get("img_path") if isinstance(entry, dict) else "")).stem
    return int(stem) if re.fullmatch("[0-9]{1,12}", stem) else -1


def _object(pair: Any, name: str) -> str:
    said = clean_text(text_of(pair.get(name) if isinstance(pair, dict) else "")).strip()
    return "" if said.casefold() == "nothing" else said


def _box(given: Any) -> tuple[Box, ...]:
    """A box as the authors' script writes it; words such as `not detected` are none."""
    if not isinstance(given, list) or len(given) != 4:
        return ()
    try:
        left, top, right, bottom = map(float, given)
    except (TypeError, ValueError):
        return ()
    return ((left, top, right, bottom),) if math.isfinite(left + top + right + bottom) else ()


def _size(source: Path) -> tuple[int, int]:
    try:
        return size_of(source)
    except (ImageError, OSError):  # whoever needs it will say so
        return 0, 0


def _sample(
    subset: str,
    key: str,
    entry: Any,
    folder: Path,
    pictures: Mapping[str, Sequence[Path]],
    annotated: Sequence[Annotated],
    findings: list[Finding],
) -> Sample | None:
    where = f"{subset}/{key}"
    if not isinstance(entry, dict) or not isinstance(entry.get("edit pair"), list):
        note = "the entry has no list `edit pair`; left out"
        findings.append(Finding("broken entry", where, note=note))
        return None
    lines = [line.strip() for line in text_of(entry.get("new_ins")).splitlines() if line.strip()]
    pairs = entry["edit pair"]
    if not lines or len(lines) != len(pairs):
        note = f"{len(lines)} instructions and {len(pairs)} edit types; left out"
        findings.append(Finding("steps that do not match", where, note=note))
        return None
    needs = NEEDS.get(subset, ())
    if needs and len(lines) != len(needs):
        note = f"a chain of {len(lines)} steps where {len(needs)} are expected; left out"
        findings.append(Finding("steps that do not match", where, note=note))
        return None
    name = text_of(entry.get("img_path")).strip()
    there = pictures.get(f"{key}-{name}") or pictures.get(name) or ()
    if len(there) > 1:
        shown = " and ".join(str(path.relative_to(folder)) for path in there[:2])
        note = f"which is its source cannot be told: {shown}; keep one of them in the folder"
        findings.append(Finding("several pictures of one name", where, note=note))
    # Where it should be, if it is nowhere: then somebody says that it is missing.
    source = there[0] if len(there) == 1 else folder / f"{key}-{name}"
    size = _size(source) if annotated else (0, 0)
    steps = []
    for at, (line, pair) in enumerate(zip(lines, pairs, strict=True)):
        kind = text_of(pair.get("edit_type") if isinstance(pair, dict) else None).strip()
        if kind == "chain two":
            item = f"step {at + 1}"
            findings.append(Finding("edit type", where, item, "chain two", "add object"))
            kind = "add object"
        elif kind not in KINDS:
            note = f"the edit type {kind!r} is not one of the ten; it counts in no type"
            findings.append(Finding("unknown edit type", where, f"step {at + 1}", note=note))
        old, new = (_object(pair, name) for name in ("ori obj", "new_obj"))
        boxes = _box(pair.get("bbox") if isinstance(pair, dict) else None)
        boxes = boxes or (boxes_of(annotated, old, size) if any(size) else ())
        steps.append(Step(line, kind, needs[at] if needs else (), boxes, old, new))
    return Sample(where, "\n".join(lines), source, {"subset": subset}, steps=tuple(steps))
