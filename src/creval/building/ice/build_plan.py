"""Plan of an ICE-Bench build: the jobs for a folder of images or for an item table, without those already done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.building.duplicates import KEEP, DuplicateReport, check_duplicates
from creval.building.ice.files import IceItems
from creval.building.ice.image_sets import find_folders_without_task, find_image_sets, tasks_from_folder
from creval.building.ice.item_table import read_item_table
from creval.building.ice.jobs import (
    ExistingItem,
    ItemJob,
    TaskSelection,
    assign_id_stems,
    assign_tasks,
    find_pending_jobs,
    find_unused_images,
    is_selected,
)
from creval.calls.settings import ChatSettings
from creval.core.files import is_dropped


@dataclass
class BuildPlan:
    """Plan of an ICE-Bench build.

    - `jobs`: jobs that are not done.
    - `keys`: keys of all requested jobs, done or not.
    - `already_done`: number of requested jobs that are done.
    - `unusable`: images or rows that cannot be used, with the reasons.
    - `notes`: notes for the user.
    - `source_types`: source types by job key, if they are given.
    - `duplicates`: duplicates among the images of a folder. Images in a table are not compared.
    """

    jobs: list[ItemJob]
    keys: set[str]
    already_done: int
    unusable: dict[str, str]
    notes: list[str] = field(default_factory=list)
    source_types: dict[str, str] = field(default_factory=dict)
    duplicates: DuplicateReport = field(default_factory=DuplicateReport)

    def __post_init__(self) -> None:
        """Add notes about unusable inputs and unused images."""
        if self.unusable:
            reasons = [f"{name} ({why})" for name, why in sorted(self.unusable.items())]
            self.notes.append(f"cannot be used: {abbreviate(reasons, 8)}")
        unused = [path.name for job in self.jobs for path in find_unused_images(job.tasks[0], job.image_set)]
        if unused:
            self.notes.append(f"ignored, because their tasks do not use them: {abbreviate(unused)}")


def plan_from_folder(
    images: Path, items: IceItems, selection: TaskSelection, settings: ChatSettings, duplicates: str = KEEP
) -> BuildPlan:
    """Plan the items for a folder. A subfolder named after a task sets the task; images elsewhere get any task.

    Duplicates are looked for only among images without mask or references whose folder names no task. Elsewhere, the
    same image may be meant for several tasks.
    """
    every, lost = find_image_sets(images, items.folder)
    home, existing = images.resolve().name, list(items.find_built().values())
    found = {name: of for name, of in every.items() if is_selected(f"{home}/{name}", selection)}
    lost = {name: why for name, why in lost.items() if is_selected(f"{home}/{name}", selection)}
    unassigned = {name: of for name, of in found.items() if not tasks_from_folder(f"{home}/{name}")}
    alone = {name: of.image for name, of in unassigned.items() if of.image and len(of.list_paths()) == 1}
    report = check_duplicates(alone, duplicates, {one.key for one in existing}, items.folder)
    found = {name: of for name, of in found.items() if name not in report.skipped}
    stems = assign_id_stems(every, existing)
    wanted, without = assign_tasks(found, stems, selection, settings.seed, home)
    keys = set(list(wanted)[: settings.limit])
    by_key: dict[str, list[ExistingItem]] = {}
    for one in existing:
        by_key.setdefault(one.key, []).append(one)
    jobs, already_done = list[ItemJob](), 0
    for name in sorted(keys):
        left, done = find_pending_jobs(wanted[name], by_key.get(name, ()), selection)
        already_done += done
        for job in left:
            free = tuple(task for task in job.tasks if job.item_id(task) not in items.entries)
            jobs += [job._replace(tasks=free)] if free else []
    lost |= {name: why for name, why in without.items() if name in keys}
    notes = [
        f"the folder {name!r} names no task, so its images can get any task."
        for name in find_folders_without_task(every)
    ]
    return BuildPlan(jobs, keys, already_done, lost, notes, duplicates=report)


def plan_from_table(
    path: Path, images: Path, items: IceItems, selection: TaskSelection, settings: ChatSettings
) -> BuildPlan:
    """Plan the items of an item table. Each row is one item with one task."""
    existing = items.find_built()
    names = dict.fromkeys(items.entries) | existing
    every, without, duplicates = read_item_table(path, images, items.folder, selection, names)
    jobs = every[: settings.limit]
    keys, done = {job.key for job in jobs}, {one.key for one in existing.values()}
    rows = {name: one for name, one in existing.items() if one.key.startswith("row ")}
    obsolete = [name for name, one in rows.items() if one.key not in keys and one.task in selection.tasks]
    obsolete = [name for name in obsolete if not is_dropped(items.entries[name])]
    notes = [f"duplicate rows give one item: {abbreviate(duplicates)}"] if duplicates else []
    if obsolete and settings.limit is None:
        notes.append(
            f"kept, although no row of {path} asks for it any more: {abbreviate(obsolete)}. To remove "
            'it, drop it in the review or with "dropped": true.'
        )
    left = [job for job in jobs if job.key not in done]
    kinds = {job.key: job.source_type for job in jobs if job.source_type}
    return BuildPlan(left, keys, len(keys & done), without, notes, kinds)


def abbreviate(names: Sequence[str], max_names: int = 1) -> str:
    """Return the first names, and how many more there are.

    >>> abbreviate(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = len(names) - max_names
    return ", ".join(names[:max_names]) + (f" and {rest:,} more" if rest > 0 else "")
