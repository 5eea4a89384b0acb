"""ComplexBench-Edit's released instructions as a dataset.

Layout: `data/instructions/SUBSET/final_update_v2.json`, from a key to `img_path`, `new_ins` (one
line a step) and `edit pair` (a type, an old and a new object for each step). Source pictures are
named `KEY-IMG_PATH`, wherever they lie in the folder. Five keys occur in two subsets, so a sample's
id is `SUBSET/KEY`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from creval.benchmarks.files import read_json, text_of
from creval.core.benchmark import Dataset, Finding, Placed
from creval.core.card import Level
from creval.core.errors import CrevalError
from creval.core.files import clean_text
from creval.core.sample import Sample, Step

# In the paper's order and words.
SUBSETS = {
    "COCO-three-obj": "Parallel, Obj.",
    "COCO-two-obj-one-attr": "Parallel, Obj.-At.",
    "COCO-obj-attr-global": "Parallel, Obj.-At.-G.",
    "two-chain": "Two-chain",
    "three-chain": "Three-chain",
}
# Which steps each step builds on.
_NEEDS: dict[str, tuple[tuple[int, ...], ...]] = {
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
    """The folder whose `instructions` hold the subsets, if `path` is, or holds, one."""
    for folder in (path, path / "data", path.parent):
        if any((folder / "instructions" / name / _FILE).is_file() for name in SUBSETS):
            return folder
    return None


def load(folder: Path) -> Dataset:
    """The samples of all subsets that are there, with every oddity as a finding."""
    folder = folder.resolve()
    findings: list[Finding] = []
    samples: list[Sample] = []
    pictures = _pictures(folder)
    for subset in SUBSETS:
        path = folder / "instructions" / subset / _FILE
        if not path.is_file():
            note = "the subset is absent; the overall mean is of the others"
            findings.append(Finding("no subset", subset, note=note))
            continue
        entries = read_json(path)
        if not isinstance(entries, dict):
            raise CrevalError(f"{path} should hold an object of samples by their keys.")
        for key, entry in entries.items():
            sample = _sample(subset, clean_text(key), entry, folder, pictures, findings)
            if sample is not None:
                samples.append(sample)
    if not samples:
        raise CrevalError(f"{folder} holds no sample that can be used.")
    return Dataset(
        "complexbench-edit",
        folder,
        tuple(samples),
        findings=tuple(findings),
        levels=LEVELS,
        place=place,
    )


def place(path: str) -> Placed | None:
    """The sample and the draw of an edit in the authors' layout of results.

    >>> place("two-chain/testResults_42/198641/198641_1")
    Placed(sample='two-chain/198641', draw=42, strategy='')
    """
    match = _DRAWN.fullmatch(path)
    return Placed(f"{match[1]}/{match[3]}", int(match[2])) if match else None


def _pictures(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if Path(name).suffix.casefold() in _PICTURES:
                found.setdefault(name, Path(where) / name)
    return found


def _sample(
    subset: str,
    key: str,
    entry: Any,
    folder: Path,
    pictures: Mapping[str, Path],
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
    needs = _NEEDS.get(subset, ())
    if needs and len(lines) != len(needs):
        note = f"a chain of {len(lines)} steps where {len(needs)} are expected; left out"
        findings.append(Finding("steps that do not match", where, note=note))
        return None
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
        steps.append(Step(line, kind, needs[at] if needs else ()))
    name = text_of(entry.get("img_path")).strip()
    # Where it should be, if it is nowhere: then somebody says that it is missing.
    source = pictures.get(f"{key}-{name}") or pictures.get(name) or folder / f"{key}-{name}"
    return Sample(where, "\n".join(lines), source, {"subset": subset}, steps=tuple(steps))
