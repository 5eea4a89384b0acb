"""What a folder of pictures or a table asks for, and what of it is still to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.building.ice.files import Items
from creval.building.ice.image_sets import find_pieces, unnamed_folders
from creval.building.ice.item_table import read_jobs
from creval.building.ice.jobs import (
    Choice,
    Job,
    There,
    assigned,
    bases,
    is_wanted,
    still_to_make,
    unused,
)
from creval.calls.settings import Settings
from creval.core.files import is_dropped


@dataclass
class Plan:
    """Jobs that are not done, and how many are (`before`); the `keys` of what is wanted, done or
    not; what cannot be made and why; notes for whoever wants it; and, by their keys, where the
    sources of some come from."""

    jobs: list[Job]
    keys: set[str]
    before: int
    without: dict[str, str]
    notes: list[str] = field(default_factory=list)
    source_types: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Say what cannot be used, and which pictures were brought in vain."""
        if self.without:
            faults = [f"{name} ({why})" for name, why in sorted(self.without.items())]
            self.notes.append(f"cannot be used: {such_as(faults, 8)}")
        aside = [path.name for job in self.jobs for path in unused(job.tasks[0], job.pieces)]
        if aside:
            self.notes.append(f"left aside, because their tasks do not use them: {such_as(aside)}")


def plan_folder(images: Path, items: Items, choice: Choice, settings: Settings) -> Plan:
    """Of a folder: tasks are those that folders name, or any."""
    every, lost = find_pieces(images, items.folder)
    home, there = images.resolve().name, list(items.there().values())
    found = {name: of for name, of in every.items() if is_wanted(f"{home}/{name}", choice)}
    lost = {name: why for name, why in lost.items() if is_wanted(f"{home}/{name}", choice)}
    base = bases(every, there)
    wanted, without = assigned(found, base, choice, settings.seed, home)
    keys = set(list(wanted)[: settings.limit])
    made: dict[str, list[There]] = {}
    for one in there:
        made.setdefault(one.key, []).append(one)
    jobs, before = list[Job](), 0
    for name in sorted(keys):
        left, done = still_to_make(wanted[name], made.get(name, ()), choice)
        before += done
        for job in left:
            free = tuple(task for task in job.tasks if job.item(task) not in items.entries)
            jobs += [job._replace(tasks=free)] if free else []
    lost |= {name: why for name, why in without.items() if name in keys}
    notes = [f"the folder {name!r} names no task: its pictures may get any."
             for name in unnamed_folders(every)]  # fmt: skip
    return Plan(jobs, keys, before, lost, notes)


def plan_table(path: Path, images: Path, items: Items, choice: Choice, settings: Settings) -> Plan:
    """Of a table: a row an item, each of its own task."""
    there = items.there()
    names = dict.fromkeys(items.entries) | there
    every, without, same = read_jobs(path, images, items.folder, choice, names)
    jobs = every[: settings.limit]
    keys, held = {job.key for job in jobs}, {one.key for one in there.values()}
    rows = {name: one for name, one in there.items() if one.key.startswith("row ")}
    gone = [name for name, one in rows.items() if one.key not in keys and one.task in choice.tasks]
    gone = [name for name in gone if not is_dropped(items.entries[name])]
    notes = [f"one item is made of rows that are the same: {such_as(same)}"] if same else []
    if gone and settings.limit is None:
        notes.append(f"in no row of {path} as it is now, and left: {such_as(gone)}. To be rid of "
                     'it, drop it in the review or with "dropped": true.')  # fmt: skip
    left = [job for job in jobs if job.key not in held]
    kinds = {job.key: job.source_type for job in jobs if job.source_type}
    return Plan(left, keys, len(keys & held), without, notes, kinds)


def such_as(names: Sequence[str], most: int = 1) -> str:
    """The first names, and how many there are besides.

    >>> such_as(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")
