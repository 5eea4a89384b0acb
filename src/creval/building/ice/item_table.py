"""User's item table, with the columns task, image, mask, references, instruction and source_type."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.ice_bench.tasks import Task, find_tasks
from creval.building.creval.sources import read_table_rows
from creval.building.ice.image_sets import ImageSet, relative_name, tasks_from_folder
from creval.building.ice.jobs import ExistingItem, ItemJob, TaskSelection, make_id_stem, unfit_task_reason
from creval.building.ice.templates import allowed_image_tags
from creval.building.ice.texts import invalid_text_reason
from creval.building.image_files import require_separate
from creval.core.errors import CrevalError, require_known
from creval.core.files import coerce_text
from creval.parsing.text_checks import text_digest

SOURCE_TYPES = ("real", "generated")
COLUMNS = ("image", "task", "mask", "references", "instruction", "source_type")
_HINTS = ("in the column mask", "in the column references")


class ItemTable(NamedTuple):
    """Content of an item table.

    - `jobs`: jobs of the usable rows, in their order.
    - `unusable`: reasons for unusable rows.
    - `duplicates`: rows that repeat an earlier row. Repeated rows give one item.
    """

    jobs: list[ItemJob]
    unusable: dict[str, str]
    duplicates: list[str]


def read_item_table(
    path: Path, folder: Path, out: Path, selection: TaskSelection, existing: Mapping[str, ExistingItem | None]
) -> ItemTable:
    """Return the jobs for the rows of an item table whose task is selected.

    Paths of images are relative to `folder`. Several references are separated by semicolons. `existing` has an entry
    for each item id in `out`; its value is the built item, or None if creval did not build it.
    """
    require_separate(folder, out)
    found = ItemTable([], {}, [])
    bases = {one.key: one.id_stem for one in existing.values() if one}
    first: dict[str, int] = {}
    every = list(_read_jobs(path, folder, out))
    often = Counter(job.item_id(job.tasks[0]) for job in {job.key: job for _, job in every}.values())
    for number, job in every:
        [task] = job.tasks
        if task.name not in selection.tasks:
            continue
        if first.setdefault(job.key, number) != number:
            found.duplicates.append(f"row {number} (as row {first[job.key]})")
            continue
        if reason := _find_row_error(job, selection):
            found.unusable[f"row {number}"] = reason
            continue
        # An existing item keeps its id. Ids that would not be unique get a digest.
        if job.key in bases:
            job = job._replace(id_stem=bases[job.key])
        elif often[job.item_id(task)] > 1 or job.item_id(task) in existing:
            job = job._replace(id_stem=f"{job.id_stem}-{text_digest(job.key)}")
        found.jobs.append(job)
    return found


def _find_row_error(job: ItemJob, selection: TaskSelection) -> str:
    """Return why a row cannot be used, or ""."""
    [task] = job.tasks
    if reason := unfit_task_reason(task, job.image_set, True, selection, *_HINTS):
        return reason
    if not job.instruction:
        return "" if job.image_set.main_image else "without an image it needs an instruction"
    reason = invalid_text_reason(job.instruction, allowed_image_tags(task, max(1, len(job.image_set.references))))
    return f"its instruction is invalid ({reason})" if reason else ""


def _read_jobs(path: Path, folder: Path, out: Path) -> Iterator[tuple[int, ItemJob]]:
    output = out.resolve()
    for number, row in enumerate(read_table_rows(path, "image"), 1):
        if not any(map(_is_filled, row.values())):
            continue  # spreadsheets write empty rows
        try:
            _check_row(row)
            job = _parse_job(row, folder)
            for image in job.image_set.list_paths():
                if image.resolve().is_relative_to(output):
                    raise CrevalError(f"{image} is inside `out`. Copy it to another folder and name the copy.")
        except CrevalError as error:
            raise CrevalError(f"{path}, row {number}: {error}") from error
        yield number, job


def _is_filled(value: object) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _check_row(row: Mapping[str, Any]) -> None:
    """Raise `CrevalError` if a row has unknown columns or values of a wrong type."""
    for name, value in row.items():
        several = value if isinstance(value, list) else [value]
        if not any(map(_is_filled, several)):
            continue
        if not name:
            raise CrevalError(f"{str(several[0])[:80]!r} is in a column without a name.")
        require_known("column", name, COLUMNS)
        of = several if name == "references" else [value]
        if not all(isinstance(one, str) for one in of) and (name, type(value)) != ("task", int):
            raise CrevalError(f"`{name}` must be text, not {str(value)[:80]}.")


def _parse_job(row: Mapping[str, Any], folder: Path) -> ItemJob:
    def text(name: str) -> str:
        return " ".join(coerce_text(row.get(name)).split())

    image = text("image").replace("\\", "/")
    given = row.get("references")
    names = given if isinstance(given, list) else coerce_text(given).split(";")
    pieces = ImageSet(
        _resolve_inside(folder, image),
        _resolve_inside(folder, text("mask")),
        tuple(path for name in names if (path := _resolve_inside(folder, coerce_text(name).strip()))),
    )
    kind = text("source_type").casefold()
    if kind:
        require_known("source type", kind, SOURCE_TYPES)
    instruction, task = text("instruction"), _parse_task(text("task"), image)
    paths = [pieces.image, pieces.mask, *pieces.references]
    key = "|".join([task.name, *(relative_name(folder, path) if path else "" for path in paths), instruction])
    base = f"text-{text_digest(instruction)}"
    if pieces.main_image is not None:
        base = make_id_stem(relative_name(folder, pieces.main_image))
    return ItemJob(f"row {text_digest(key)}", base, pieces, (task,), 1, True, instruction, kind)


def _parse_task(named: str, image: str) -> Task:
    """Return the task that a row names, or else the folder of its image."""
    found = find_tasks(named) if named else tasks_from_folder(image)
    if not found:
        raise CrevalError("the row needs a task.")
    if len(found) > 1:
        raise CrevalError(f"{named or image} names several tasks. Give one.")
    return found[0]


def _resolve_inside(folder: Path, name: str) -> Path | None:
    """Return the path of an image in a folder. The name is relative to the folder, or absolute."""
    if not name:
        return None
    path = Path(os.path.normpath(folder / name.replace("\\", "/")))
    if not path.is_relative_to(folder):
        path = folder / os.path.relpath(path, folder.resolve())
    if ".." in path.relative_to(folder).parts:
        raise CrevalError(f"{name} is outside of {folder}.")
    if not path.is_file():
        raise CrevalError(f"{name} does not exist in {folder}.")
    return path
