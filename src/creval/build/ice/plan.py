"""What a folder of pictures or a table asks for, and what of it is still to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from creval.build.ice.files import Items
from creval.build.ice.jobs import (
    Choice,
    Job,
    There,
    assigned,
    bases,
    is_wanted,
    still_to_make,
    unused,
)
from creval.build.ice.pieces import find_pieces, unnamed_folders
from creval.build.ice.rows import read_jobs
from creval.engine.settings import Settings


@dataclass
class Plan:
    """Jobs that are not done, and how many are (`before`); the `keys` of what is wanted, done or
    not; what cannot be made and why; and notes for whoever wants it."""

    jobs: list[Job]
    keys: set[str]
    before: int
    without: dict[str, str]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Say what cannot be used, and which pictures were brought in vain."""
        if self.without:
            faults = [f"{name} ({why})" for name, why in sorted(self.without.items())]
            self.notes.append(f"cannot be used: {_such_as(faults)}")
        aside = [path.name for job in self.jobs for path in unused(job.tasks[0], job.pieces)]
        if aside:
            self.notes.append(f"left aside, because their tasks do not use them: {_such_as(aside)}")


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
    jobs, without = read_jobs(path, images, items.folder, choice, names)
    jobs = jobs[: settings.limit]
    keys, held = {job.key for job in jobs}, {one.key for one in there.values()}
    rows = {name: one for name, one in there.items() if one.key.startswith("row ")}
    gone = [name for name, one in rows.items() if one.key not in keys and one.task in choice.tasks]
    notes = []
    if gone and settings.limit is None:
        notes.append(f"in no row of {path} as it is now, and left: {_such_as(gone)}.")
    left = [job for job in jobs if job.key not in held]
    return Plan(left, keys, len(keys & held), without, notes)


def _such_as(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
