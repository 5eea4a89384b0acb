"""ICE-Bench's released items as a dataset.

Layout: `dataset/data.jsonl`, or `data/data.jsonl` as the archive has it, with an item a line:
ItemID, Task, SourceImageType, RegionBased, SourceImage, SourceMask, ReferenceImages, Instruction,
SourceCaption, TargetCaption. Pictures are named from that folder, or from the one that holds it.
Instructions speak of them as `<SOURCE>` and `<REF_1>`. Groups follow from the task. `creval build`
writes the same, with `made` (how, and from which template) and, after a review, `dropped`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.ice_bench import model_outputs
from creval.benchmarks.ice_bench.items import (
    FILE,
    FOLDERS,
    NAMED,
    clean_name,
    lines_of,
    picture_named,
    read_line,
    reference_names,
    root_of,
    unfilled,
)
from creval.benchmarks.ice_bench.tasks import CATEGORIES, GROUPS, SUBJECTS, TASKS, Task, task_named
from creval.core.benchmark import Dataset, Finding
from creval.core.errors import CrevalError, nearest
from creval.core.files import clean_text, is_dropped, text_of
from creval.core.images import ImageError, size_of
from creval.core.sample import Sample
from creval.core.schema import Level

LEVELS = (
    Level("overall", "overall", ("overall",), of="task"),
    Level("category", "categories", tuple(CATEGORIES), of="task"),
    Level("task_group", "task_groups", GROUPS, of="task"),
    Level("task_subgroup", "task_subgroups", (SUBJECTS,), of="task"),
    Level("source_type", "source_types", ("real", "generated")),
    Level("task", "tasks", tuple(TASKS)),
)
_FIRST = 1 << 20  # bytes in which a first item ends
_REAL = re.compile(r"(?<![a-z])real(?!is)")  # neither unreal nor realistic
_GENERATED = re.compile(r"generat|synthe|virtual|\bai\b")


def recognise(path: Path) -> Path | None:
    """The folder that holds the items, if `path` is one or has one inside."""
    for folder in (path, *(path / name for name in FOLDERS)):
        if (folder / FILE).is_file() and _holds_items(folder / FILE):
            return folder
    return None


def _holds_items(path: Path) -> bool:
    """Whether one of the first lines is an item."""
    with path.open("rb") as file:
        lines = file.read(_FIRST).splitlines()
    items = (read_line(line)[0] for line in lines[:20])
    return any({"ItemID", "Task"} <= item.keys() for item in items)


def load(folder: Path) -> Dataset:
    """All items that can be used, with every oddity as a finding."""
    folder = folder.resolve()
    findings: list[Finding] = []
    samples: dict[str, Sample] = {}
    for where, entry in _entries(folder / FILE, findings):
        sample = _Reader(folder, where, entry, findings).sample()
        if sample is None:
            continue
        if sample.id in samples:
            note = "the id occurs before; left out"
            findings.append(Finding("repeated id", where, sample.id, note=note))
        else:
            samples[sample.id] = sample
    if not samples:
        faults = [f"{found.where}: {found.rule}, {found.note}" for found in findings[:3]]
        why = f" ({'; '.join(faults)})" if faults else ""
        raise CrevalError(f"{folder / FILE} holds no item that can be used{why}.")
    there = Counter(sample.tags["task"] for sample in samples.values())
    note = "the task is absent; the overall mean is of the others"
    findings += [Finding("no items", name, note=note) for name in TASKS if not there[name]]
    return Dataset(
        "ice-bench",
        root_of(folder),
        tuple(samples.values()),
        findings=tuple(findings),
        levels=LEVELS,
        place=partial(model_outputs.place, frozenset(samples)),
        told=model_outputs.told,
        whole=True,
    )


def _entries(path: Path, findings: list[Finding]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, entry, reason in lines_of(path):
        where = f"{FILE}, line {number}"
        if reason:
            findings.append(Finding("broken line", where, note=f"{reason}; left out"))
        elif open_ := unfilled(entry):
            note = f"{{{open_[0]}}} is not filled in; left out"
            findings.append(Finding("unfilled", where, text_of(entry.get("ItemID")), note=note))
        elif not is_dropped(entry):
            yield where, entry


class _Reader(NamedTuple):
    """One item in the making."""

    folder: Path
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
            near = nearest(named, TASKS)
            hint = f", perhaps {near}" if near else ""
            return self._left_out("unknown task", f"it is none of the {len(TASKS)}{hint}", named)
        source = self._picture(identity, "source", self.entry.get("SourceImage"))
        mask = self._picture(identity, "mask", self.entry.get("SourceMask"))
        names = reference_names(self.entry)
        found = [self._picture(identity, "reference", name) for name in names]
        references = tuple(path for path in found if path is not None)
        if task.edits and source is None:
            return self._left_out("no source", "it has no picture to edit", identity)
        if task.reference and not references:
            return self._left_out("no reference", "it has no reference picture", identity)
        if references and len(references) < len(found):
            return self._left_out("lost reference", "others would take its number", identity)
        if task.masked and mask is None:
            return self._left_out("no mask", "it has none that says where to edit", identity)
        instruction = self._text("Instruction")
        made = Sample(
            identity,
            instruction,
            source,
            self._tags(identity, task, source),
            mask=mask,
            references=references,
            captions=self._captions(identity, task, instruction),
            made_of=self._made_of(),
        )
        self._check(made)
        return made

    def _made_of(self) -> str:
        """The picture that an item was built of: each item has a copy of its own."""
        made = self.entry.get("made")
        return clean_text(text_of(made.get("picture"))) if isinstance(made, dict) else ""

    def _text(self, name: str) -> str:
        return clean_text(text_of(self.entry.get(name))).strip()

    def _found(self, rule: str, where: str, note: str, item: str = "") -> None:
        self.findings.append(Finding(rule, where, item[:200], note=note))

    def _left_out(self, rule: str, note: str, item: str = "") -> None:
        self._found(rule, self.where, f"{note}; left out", item)

    def _picture(self, identity: str, what: str, given: object) -> Path | None:
        """The file that a name stands for or, if it is nowhere, where it should be."""
        name = clean_name(given)
        if not name:
            return None
        path = picture_named(self.folder, name)
        if path is None:
            self._found("image outside", identity, "it lies outside the benchmark; not used", name)
        elif what != "source" and not os.path.isfile(path):  # noqa: PTH113
            # Sources are counted by whoever looks.
            self._found(f"missing {what}", identity, "its file is not in the folder", name)
        return path

    def _tags(self, identity: str, task: Task, source: Path | None) -> dict[str, str]:
        tags = task.tags
        said = self._text("SourceImageType")
        kind = "real" if _REAL.search(said.casefold()) else ""
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

    def _check(self, sample: Sample) -> None:
        if not sample.instruction:
            self._found("empty instruction", sample.id, "kept as it is")
        if sample.mask is None and self.entry.get("RegionBased") is True:
            self._found("no mask", sample.id, "the whole picture counts as what is to be kept")
        for match in NAMED.finditer(sample.instruction):
            there = sample.source if match[2] is None else int(match[2]) <= len(sample.references)
            if not there or match[2] == "0":
                self._found("unknown picture", sample.id, "the instruction names it", match[0])
        if sample.mask is not None and sample.source is not None:
            try:
                (wide, high), (w, h) = size_of(sample.source), size_of(sample.mask)
            except (ImageError, OSError):  # whoever needs them will say so
                return
            if (wide, high) != (w, h):
                sizes = f"{w} x {h}, its source {wide} x {high}"
                self._found("mask of another size", sample.id, "it is scaled for measuring", sizes)
