"""What a folder of images or a table asks for, and what of it is still to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.building.ice.files import IceItems
from creval.building.ice.image_sets import find_folders_without_task, find_image_sets
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
    """Jobs that are not done, and how many are (`already_done`); the `keys` of what is wanted, done or not; what cannot
    be made and why; notes for whoever wants it; and, by their keys, where the sources of some come from."""

    jobs: list[ItemJob]
    keys: set[str]
    already_done: int
    unusable: dict[str, str]
    notes: list[str] = field(default_factory=list)
    source_types: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Say what cannot be used, and which images were brought in vain."""
        if self.unusable:
            faults = [f"{name} ({why})" for name, why in sorted(self.unusable.items())]
            self.notes.append(f"cannot be used: {abbreviate(faults, 8)}")
        aside = [path.name for job in self.jobs for path in find_unused_images(job.tasks[0], job.image_set)]
        if aside:
            self.notes.append(f"left aside, because their tasks do not use them: {abbreviate(aside)}")


def plan_from_folder(images: Path, items: IceItems, selection: TaskSelection, settings: ChatSettings) -> BuildPlan:
    """Plan the items of a folder: tasks are those that folders name, or any."""
    every, lost = find_image_sets(images, items.folder)
    home, there = images.resolve().name, list(items.find_built().values())
    found = {name: of for name, of in every.items() if is_selected(f"{home}/{name}", selection)}
    lost = {name: why for name, why in lost.items() if is_selected(f"{home}/{name}", selection)}
    base = assign_id_stems(every, there)
    wanted, without = assign_tasks(found, base, selection, settings.seed, home)
    keys = set(list(wanted)[: settings.limit])
    made: dict[str, list[ExistingItem]] = {}
    for one in there:
        made.setdefault(one.key, []).append(one)
    jobs, before = list[ItemJob](), 0
    for name in sorted(keys):
        left, done = find_pending_jobs(wanted[name], made.get(name, ()), selection)
        before += done
        for job in left:
            free = tuple(task for task in job.tasks if job.item_id(task) not in items.entries)
            jobs += [job._replace(tasks=free)] if free else []
    lost |= {name: why for name, why in without.items() if name in keys}
    notes = [
        f"the folder {name!r} names no task: its pictures may get any." for name in find_folders_without_task(every)
    ]
    return BuildPlan(jobs, keys, before, lost, notes)


def plan_from_table(
    path: Path, images: Path, items: IceItems, selection: TaskSelection, settings: ChatSettings
) -> BuildPlan:
    """Plan the items of a table: a row an item, each of its own task."""
    there = items.find_built()
    names = dict.fromkeys(items.entries) | there
    every, without, same = read_item_table(path, images, items.folder, selection, names)
    jobs = every[: settings.limit]
    keys, held = {job.key for job in jobs}, {one.key for one in there.values()}
    rows = {name: one for name, one in there.items() if one.key.startswith("row ")}
    gone = [name for name, one in rows.items() if one.key not in keys and one.task in selection.tasks]
    gone = [name for name in gone if not is_dropped(items.entries[name])]
    notes = [f"one item is made of rows that are the same: {abbreviate(same)}"] if same else []
    if gone and settings.limit is None:
        notes.append(
            f"in no row of {path} as it is now, and left: {abbreviate(gone)}. To be rid of "
            'it, drop it in the review or with "dropped": true.'
        )
    left = [job for job in jobs if job.key not in held]
    kinds = {job.key: job.source_type for job in jobs if job.source_type}
    return BuildPlan(left, keys, len(keys & held), without, notes, kinds)


def abbreviate(names: Sequence[str], max_names: int = 1) -> str:
    """Return the first names, and how many there are besides.

    >>> abbreviate(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = len(names) - max_names
    return ", ".join(names[:max_names]) + (f" and {rest:,} more" if rest > 0 else "")
