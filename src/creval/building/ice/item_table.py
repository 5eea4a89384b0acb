"""A table of items that people bring: task, image, mask, references, instruction, source_type."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.ice_bench.tasks import Task, tasks_named
from creval.building.creval.sources import read_rows
from creval.building.ice.image_sets import Pieces, name_in, named_by_folder
from creval.building.ice.jobs import Choice, Hints, Job, There, base_of, unfit
from creval.building.ice.templates import names_of
from creval.building.ice.texts import own_fault
from creval.building.images import check_apart
from creval.core.errors import CrevalError, known_name
from creval.core.files import text_of
from creval.parsing.text_checks import digest

SOURCE_TYPES = ("real", "generated")
COLUMNS = ("image", "task", "mask", "references", "instruction", "source_type")
_HINTS = Hints("in the column mask", "in the column references")


class Rows(NamedTuple):
    """The items in a table, in its order; the rows that cannot be used, with the reasons; and those
    that are the same as others, of which there is one item."""

    jobs: list[Job]
    without: dict[str, str]
    same: list[str]


def read_jobs(
    path: Path, folder: Path, out: Path, choice: Choice, there: Mapping[str, There | None]
) -> Rows:
    """What a table asks for, of the tasks that are chosen. Pictures are named from the folder;
    several references are parted by semicolons. `there` are all items in `out`, by their ids, and
    what those are made of that were built."""
    check_apart(folder, out)
    found = Rows([], {}, [])
    bases = {one.key: one.base for one in there.values() if one}
    first: dict[str, int] = {}
    every = list(_jobs(path, folder, out))
    often = Counter(job.item(job.tasks[0]) for job in {job.key: job for _, job in every}.values())
    for number, job in every:
        [task] = job.tasks
        if task.name not in choice.tasks:
            continue
        if first.setdefault(job.key, number) != number:
            found.same.append(f"row {number} (as row {first[job.key]})")
            continue
        if reason := _fault(job, choice):
            found.without[f"row {number}"] = reason
            continue
        # An item that is there keeps its name; others that would share one get a digest.
        if job.key in bases:
            job = job._replace(base=bases[job.key])
        elif often[job.item(task)] > 1 or job.item(task) in there:
            job = job._replace(base=f"{job.base}-{digest(job.key)}")
        found.jobs.append(job)
    return found


def _fault(job: Job, choice: Choice) -> str:
    """Why no item can be made of a row, if none can."""
    [task] = job.tasks
    if reason := unfit(task, job.pieces, True, choice, _HINTS):
        return reason
    if not job.instruction:
        return "" if job.pieces.first else "without a picture it needs an instruction"
    reason = own_fault(job.instruction, names_of(task, max(1, len(job.pieces.references))))
    return f"its instruction cannot stand ({reason})" if reason else ""


def _jobs(path: Path, folder: Path, out: Path) -> Iterator[tuple[int, Job]]:
    made = out.resolve()
    for number, row in enumerate(read_rows(path, "image"), 1):
        if not any(map(_said, row.values())):
            continue  # as spreadsheets leave them
        try:
            _check(row)
            job = _job(row, folder)
            for one in job.pieces.all():
                if one.resolve().is_relative_to(made):
                    raise CrevalError(f"{one} lies in --out; give a copy elsewhere.")
        except CrevalError as error:
            raise CrevalError(f"{path}, row {number}: {error}") from error
        yield number, job


def _said(value: object) -> bool:
    """Whether anything stands in a field."""
    return bool(value.strip() if isinstance(value, str) else value)


def _check(row: Mapping[str, Any]) -> None:
    """Refuse what would not be looked at, or be taken for something else."""
    for name, value in row.items():
        several = value if isinstance(value, list) else [value]
        if not any(map(_said, several)):
            continue
        if not name:
            raise CrevalError(f"{str(several[0])[:80]!r} stands in a column that has no name.")
        known_name("column", name, COLUMNS)
        of = several if name == "references" else [value]
        if not all(isinstance(one, str) for one in of) and (name, type(value)) != ("task", int):
            raise CrevalError(f"its {name} should be text, and is {str(value)[:80]}.")


def _job(row: Mapping[str, Any], folder: Path) -> Job:
    def text(name: str) -> str:
        return " ".join(text_of(row.get(name)).split())

    image = text("image").replace("\\", "/")
    given = row.get("references")
    names = given if isinstance(given, list) else text_of(given).split(";")
    pieces = Pieces(
        _inside(folder, image),
        _inside(folder, text("mask")),
        tuple(path for name in names if (path := _inside(folder, text_of(name).strip()))),
    )
    kind = text("source_type").casefold()
    if kind:
        known_name("source type", kind, SOURCE_TYPES)
    said, task = text("instruction"), _task(text("task"), image)
    of = [pieces.picture, pieces.mask, *pieces.references]
    key = "|".join([task.name, *(name_in(folder, path) if path else "" for path in of), said])
    base = f"text-{digest(said)}"
    if pieces.first is not None:
        base = base_of(name_in(folder, pieces.first))
    return Job(f"row {digest(key)}", base, pieces, (task,), 1, True, said, kind)


def _task(named: str, image: str) -> Task:
    """The task that a row names, or the folder of its picture."""
    found = tasks_named(named) if named else named_by_folder(image)
    if not found:
        raise CrevalError("it needs a task.")
    if len(found) > 1:
        raise CrevalError(f"{named or image} names several tasks: give one.")
    return found[0]


def _inside(folder: Path, name: str) -> Path | None:
    """A picture in a folder, which may be named from there or from the root."""
    if not name:
        return None
    path = Path(os.path.normpath(folder / name.replace("\\", "/")))
    if not path.is_relative_to(folder):
        path = folder / os.path.relpath(path, folder.resolve())
    if ".." in path.relative_to(folder).parts:
        raise CrevalError(f"{name} lies outside {folder}.")
    if not path.is_file():
        raise CrevalError(f"there is no {name} in {folder}.")
    return path
