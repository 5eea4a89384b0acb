"""Reader of ICE-Bench's released items.

Layout: `dataset/data.jsonl`, or `data/data.jsonl` as in the archive, with one item per line: ItemID, Task,
SourceImageType, RegionBased, SourceImage, SourceMask, ReferenceImages, Instruction, SourceCaption, TargetCaption.
Image paths are relative to that folder or its parent. Instructions refer to images as `<SOURCE>` and `<REF_1>`.
The task determines the groups of an item. `creval build` adds `made` (provenance, and the template) and, after a
review, `dropped`.
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
from creval.benchmarks.ice_bench.item_lines import (
    IMAGE_REFERENCE,
    ITEMS_FILE,
    ITEMS_FOLDERS,
    benchmark_root,
    clean_image_name,
    find_unfilled,
    read_item_lines,
    reference_names,
    resolve_image_path,
)
from creval.benchmarks.ice_bench.tasks import CATEGORIES, SUBJECT_SUBGROUP, TASK_GROUPS, TASKS, Task, find_task
from creval.core.benchmark import Dataset, IssueList
from creval.core.errors import CrevalError, nearest_name
from creval.core.files import clean_text, coerce_text, dig, is_dropped, open_file, replace_lone_surrogates
from creval.core.images import ImageError, read_image_size
from creval.core.release_source import HUB, ReleaseSource
from creval.core.sample import Sample
from creval.core.schema import Level
from creval.core.table_files import parse_json_line

LEVELS = (
    Level("overall", "overall", ("overall",), mean_of="task"),
    Level("category", "categories", tuple(CATEGORIES), mean_of="task"),
    Level("task_group", "task_groups", TASK_GROUPS, mean_of="task"),
    Level("task_subgroup", "task_subgroups", (SUBJECT_SUBGROUP,), mean_of="task"),
    Level("source_type", "source_types", ("real", "generated")),
    Level("task", "tasks", tuple(TASKS)),
)
_HEAD_BYTES = 1 << 20  # bytes that contain at least the first item
_REAL = re.compile(r"(?<![a-z])real(?!is)")  # neither unreal nor realistic
_GENERATED = re.compile(r"generat|synthe|virtual|\bai\b")
SOURCE = ReleaseSource(
    kind=HUB,
    repository="ali-vilab/ICE-Bench",
    files=("data.zip",),
    archives=("data.zip",),
    contents="data.zip, unpacked,",
    also="models.zip, the authors' models of the metrics: optional, see docs/reference/metrics.md",
    layout="dataset/data.jsonl or data/data.jsonl, and its images/",
)
"""The authors' release."""


def find_ice_bench_folder(path: Path) -> Path | None:
    """Return `path` or a folder in it, whichever has the file of items. None if neither has."""
    for folder in (path, *(path / name for name in ITEMS_FOLDERS)):
        if (folder / ITEMS_FILE).is_file() and _has_items(folder / ITEMS_FILE):
            return folder
    return None


def _has_items(path: Path) -> bool:
    """Return True if one of the first lines is an item."""
    with open_file(path) as file:
        lines = file.read(_HEAD_BYTES).splitlines()
    items = (parse_json_line(line)[0] for line in lines[:20])
    return any({"ItemID", "Task"} <= item.keys() for item in items)


def load_ice_bench_dataset(folder: Path) -> Dataset:
    """Load all usable items. Problems become issues of the dataset."""
    folder = folder.resolve()
    findings = IssueList()
    samples: dict[str, Sample] = {}
    for where, entry in _iter_entries(folder / ITEMS_FILE, findings):
        sample = _ItemParser(folder, where, entry, findings).parse()
        if sample is not None and sample.id in samples:
            findings.add("repeated id", where, "an earlier item has this id; left out", sample.id)
        elif sample is not None:
            samples[sample.id] = sample
    if not samples:
        faults = [f"{found.location}: {found.rule}, {found.note}" for found in findings[:3]]
        why = f" ({'; '.join(faults)})" if faults else ""
        raise CrevalError(f"{folder / ITEMS_FILE} contains no usable item{why}.")
    counts = Counter(sample.tags["task"] for sample in samples.values())
    for name in TASKS:
        if not counts[name]:
            findings.add("no items", name, "the task has no items; the overall mean is over the other tasks")
    return Dataset(
        "ice-bench",
        benchmark_root(folder),
        tuple(samples.values()),
        issues=tuple(findings),
        levels=LEVELS,
        match_edit_file=partial(model_outputs.match_ice_edit_file, frozenset(samples)),
        read_model_outputs=model_outputs.read_model_outputs,
        requires_all_inputs=True,
    )


def _iter_entries(path: Path, issues: IssueList) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, entry, reason in read_item_lines(path):
        where = f"{ITEMS_FILE}, line {number}"
        if reason:
            issues.add("broken line", where, f"{reason}; left out")
        elif open_ := find_unfilled(entry):
            note = f"{{{open_[0]}}} is not filled in; left out"
            issues.add("unfilled", where, note, coerce_text(entry.get("ItemID")))
        elif not is_dropped(entry):
            yield where, entry


class _ItemParser(NamedTuple):
    """Parser of one item."""

    folder: Path
    where: str
    entry: Mapping[str, Any]
    findings: IssueList

    def parse(self) -> Sample | None:
        identity = self._text("ItemID")
        if not identity:
            return self._skip("no id", "the item has no ItemID")
        named = self._text("Task")
        task = find_task(named)
        if task is None:
            near = nearest_name(named, TASKS)
            hint = f", perhaps {near}" if near else ""
            return self._skip("unknown task", f"it is not one of the {len(TASKS)} tasks{hint}", named)
        source = self._resolve_image(identity, "source", self.entry.get("SourceImage"))
        mask = self._resolve_image(identity, "mask", self.entry.get("SourceMask"))
        names = reference_names(self.entry)
        found = [self._resolve_image(identity, "reference", name) for name in names]
        references = tuple(path for path in found if path is not None)
        if task.has_source and source is None:
            return self._skip("no source", "it has no image to edit", identity)
        if task.reference_metric and not references:
            return self._skip("no reference", "it has no reference image", identity)
        if references and len(references) < len(found):
            return self._skip("lost reference", "without it, the numbers of other references would change", identity)
        if task.has_mask and mask is None:
            return self._skip("no mask", "it has no mask of the region to edit", identity)
        instruction = self._text("Instruction")
        sample = Sample(
            identity,
            instruction,
            source,
            self._tags(identity, task, source),
            mask=mask,
            references=references,
            captions=self._captions(identity, task, instruction),
            # Built items have their own copies of an image, so paths do not identify a shared one.
            derived_from=replace_lone_surrogates(coerce_text(dig(self.entry, "made", "picture"))),
        )
        self._check_sample(sample)
        return sample

    def _text(self, name: str) -> str:
        return clean_text(self.entry.get(name))

    def _skip(self, rule: str, note: str, item: str = "") -> None:
        self.findings.add(rule, self.where, f"{note}; left out", item[:200])

    def _resolve_image(self, identity: str, what: str, given: object) -> Path | None:
        """Return the path of an image, even if the file does not exist.

        Return None if no name is given or the path is outside the benchmark's folder.
        """
        name = clean_image_name(given)
        if not name:
            return None
        path = resolve_image_path(self.folder, name)
        if path is None:
            self.findings.add("image outside", identity, "it is outside the benchmark; not used", name[:200])
        elif what != "source" and not os.path.isfile(path):  # noqa: PTH113
            # Missing sources are counted elsewhere.
            self.findings.add(f"missing {what}", identity, "its file is not in the folder", name[:200])
        return path

    def _tags(self, identity: str, task: Task, source: Path | None) -> dict[str, str]:
        tags = task.tags
        named = self._text("SourceImageType")
        kind = "real" if _REAL.search(named.casefold()) else ""
        kind = "generated" if _GENERATED.search(named.casefold()) else kind
        if kind and source is not None:
            tags["source_type"] = kind
        elif named and source is not None:
            self.findings.add("unknown source type", identity, "the item counts in no source type", named[:200])
        return tags

    def _captions(self, identity: str, task: Task, instruction: str) -> dict[str, str]:
        captions = {"source": self._text("SourceCaption"), "target": self._text("TargetCaption")}
        if not captions["target"] and not task.has_source and instruction:
            self.findings.add("target caption", identity, original="none", replacement=instruction)
            captions["target"] = instruction
        elif not captions["target"] and task.control_metric != "ssim":
            self.findings.add("no target caption", identity, "prompt following cannot be measured")
        return {name: text for name, text in captions.items() if text}

    def _check_sample(self, sample: Sample) -> None:
        if not sample.instruction:
            self.findings.add("empty instruction", sample.id, "left unchanged")
        if sample.mask is None and self.entry.get("RegionBased") is True:
            self.findings.add("no mask", sample.id, "metrics expect that the whole image is preserved")
        for match in IMAGE_REFERENCE.finditer(sample.instruction):
            exists = sample.source if match[2] is None else int(match[2]) <= len(sample.references)
            if not exists or match[2] == "0":
                self.findings.add("unknown image", sample.id, "the instruction refers to it", match[0])
        if sample.mask is not None and sample.source is not None:
            try:
                (wide, high), (w, h) = read_image_size(sample.source), read_image_size(sample.mask)
            except (ImageError, OSError):  # reported when the images are used
                return
            if (wide, high) != (w, h):
                sizes = f"{w} x {h}, its source {wide} x {high}"
                self.findings.add("mask of another size", sample.id, "it is scaled for measurements", sizes)
