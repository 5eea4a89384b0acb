"""ICE-Bench's released items as a dataset.

Layout: `dataset/data.jsonl`, or `data/data.jsonl` as the archive has it, with an item a line:
ItemID, Task, SourceImageType, RegionBased, SourceImage, SourceMask, ReferenceImages, Instruction,
SourceCaption, TargetCaption. Pictures are named from that folder, or from the one that holds it.
Instructions speak of them as `<SOURCE>` and `<REF_1>`. Groups follow from the task.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks import ice_edits
from creval.benchmarks.files import text_of
from creval.benchmarks.ice_tasks import CATEGORIES, GROUPS, TASKS, Task, task_named
from creval.core.benchmark import Dataset, Finding
from creval.core.card import Level
from creval.core.errors import CrevalError
from creval.core.files import clean_text, read_bytes
from creval.core.images import ImageError, size_of
from creval.core.sample import Sample

LEVELS = (
    Level("overall", "overall", ("overall",), of="task"),
    Level("category", "categories", tuple(CATEGORIES), of="task"),
    Level("task_group", "task_groups", GROUPS, of="task"),
    Level("source_type", "source_types", ("real", "generated")),
    Level("task", "tasks", tuple(TASKS)),
)
_FILE = "data.jsonl"
_FOLDERS = ("dataset", "data")
_FIRST = 1 << 20  # bytes in which a first item ends
_NAMED = re.compile(r"[<\[](SOURCE|REF_([0-9]{1,4}))[>\]]")
_GENERATED = re.compile(r"generat|synthe|virtual|\bai\b")


def recognise(path: Path) -> Path | None:
    """The folder that holds the items, if `path` is one or has one inside."""
    for folder in (path, *(path / name for name in _FOLDERS)):
        if (folder / _FILE).is_file() and _holds_items(folder / _FILE):
            return folder
    return None


def _holds_items(path: Path) -> bool:
    """Whether one of the first lines is an item."""
    with path.open("rb") as file:
        lines = file.read(_FIRST).splitlines()
    items = (_item(line)[0] for line in lines[:20])
    return any({"ItemID", "Task"} <= item.keys() for item in items)


def _item(line: bytes) -> tuple[dict[str, Any], str]:
    """The object in a line or, where there is none, an empty one and the reason."""
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, clean_text(str(error))[:200]
    return (found, "") if isinstance(found, dict) else ({}, "it is no object")


def load(folder: Path) -> Dataset:
    """All items that can be used, with every oddity as a finding."""
    folder = folder.resolve()
    root = folder.parent if folder.name in _FOLDERS else folder
    findings: list[Finding] = []
    samples: dict[str, Sample] = {}
    for where, entry in _entries(folder / _FILE, findings):
        sample = _Reader(folder, root, where, entry, findings).sample()
        if sample is None:
            continue
        if sample.id in samples:
            note = "the id occurs before; left out"
            findings.append(Finding("repeated id", where, sample.id, note=note))
        else:
            samples[sample.id] = sample
    if not samples:
        raise CrevalError(f"{folder / _FILE} holds no item that can be used.")
    there = Counter(sample.tags["task"] for sample in samples.values())
    note = "the task is absent; the overall mean is of the others"
    findings += [Finding("no items", name, note=note) for name in TASKS if not there[name]]
    return Dataset(
        "ice-bench",
        root,
        tuple(samples.values()),
        findings=tuple(findings),
        levels=LEVELS,
        place=ice_edits.place,
        told=ice_edits.told,
    )


def _entries(path: Path, findings: list[Finding]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        lines = read_bytes(path).splitlines()
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    for number, line in enumerate(lines, 1):
        where = f"{_FILE}, line {number}"
        if not line.strip():
            continue
        entry, reason = _item(line)
        if reason:
            findings.append(Finding("broken line", where, note=f"{reason}; left out"))
        else:
            yield where, entry


class _Reader(NamedTuple):
    """One item in the making."""

    folder: Path
    root: Path
    where: str
    entry: Mapping[str, Any]
    findings: list[Finding]

    def sample(self) -> Sample | None:
        identity = self._text("ItemID")
        if not identity:
            return self._left_out("no id", "the item has no ItemID")
        named = self._text("Task")
        task = task_named(named)
        if task is None:
            return self._left_out("unknown task", f"it is none of the {len(TASKS)}", named)
        source = self._picture(identity, "source", self.entry.get("SourceImage"))
        mask = self._picture(identity, "mask", self.entry.get("SourceMask"))
        given = self.entry.get("ReferenceImages")
        names = given if isinstance(given, list) else [given]
        found = (self._picture(identity, "reference", name) for name in names)
        references = tuple(path for path in found if path is not None)
        if task.edits and source is None:
            return self._left_out("no source", "it has no picture to edit", identity)
        if task.reference and not references:
            return self._left_out("no reference", "it has no reference picture", identity)
        instruction = self._text("Instruction")
        made = Sample(
            identity,
            instruction,
            source,
            self._tags(identity, task, source),
            mask=mask,
            references=references,
            captions=self._captions(identity, task, instruction),
        )
        self._check(made, task)
        return made

    def _text(self, name: str) -> str:
        return clean_text(text_of(self.entry.get(name))).strip()

    def _found(self, rule: str, where: str, note: str, item: str = "") -> None:
        self.findings.append(Finding(rule, where, item[:200], note=note))

    def _left_out(self, rule: str, note: str, item: str = "") -> None:
        self._found(rule, self.where, f"{note}; left out", item)

    def _picture(self, identity: str, what: str, given: object) -> Path | None:
        """The file that a name stands for or, if it is nowhere, where it should be."""
        name = clean_text(text_of(given)).strip().replace("\\", "/")
        if not name:
            return None
        first, _, inner = name.partition("/")
        wanted = [self.folder / name, self.root / name]
        if first and inner:  # the folder was renamed
            wanted.append(self.folder / inner)
        paths = [Path(os.path.normpath(path)) for path in wanted]
        paths = [path for path in paths if path.is_relative_to(self.root)]
        if not paths:
            self._found("image outside", identity, "it lies outside the benchmark; not used", name)
            return None
        there = next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113
        if there is None and what != "source":  # sources are counted by whoever looks
            self._found(f"missing {what}", identity, "its file is not in the folder", name)
        return there or paths[0]

    def _tags(self, identity: str, task: Task, source: Path | None) -> dict[str, str]:
        tags = {"category": task.category, "task_group": task.group, "task": task.name}
        said = self._text("SourceImageType")
        kind = "real" if "real" in said.casefold() else ""
        kind = "generated" if _GENERATED.search(said.casefold()) else kind
        if kind and source is not None:
            tags["source_type"] = kind
        elif said and source is not None:
            self._found("unknown source type", identity, "it counts in none", said)
        return tags

    def _captions(self, identity: str, task: Task, instruction: str) -> dict[str, str]:
        captions = {"source": self._text("SourceCaption"), "target": self._text("TargetCaption")}
        if not captions["target"] and not task.edits and instruction:
            found = Finding("target caption", identity, found="none", became=instruction)
            self.findings.append(found)
            captions["target"] = instruction
        elif not captions["target"] and task.control != "ssim":
            self._found("no target caption", identity, "prompt following cannot be measured")
        return {name: text for name, text in captions.items() if text}

    def _check(self, sample: Sample, task: Task) -> None:
        if not sample.instruction:
            self._found("empty instruction", sample.id, "kept as it is")
        if sample.mask is None and (task.masked or self.entry.get("RegionBased") is True):
            self._found("no mask", sample.id, "the whole picture counts as what is to be kept")
        for match in _NAMED.finditer(sample.instruction):
            there = sample.source if match[2] is None else int(match[2]) <= len(sample.references)
            if not there or match[2] == "0":
                self._found("unknown picture", sample.id, "the instruction names it", match[0])
        if sample.mask is not None and sample.source is not None:
            try:
                (wide, high), (w, h) = size_of(sample.source), size_of(sample.mask)
            except (ImageError, OSError):  # whoever needs them will say so
                return
            if (wide, high) != (w, h):
                note = f"the mask is {w} x {h}, the source {wide} x {high}"
                self._found("mask of another size", sample.id, note)
