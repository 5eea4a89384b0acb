"""Jobs of an ICE-Bench build: the items to create, each with its images and possible tasks.

Images whose folder names no task get random tasks, distributed as evenly as possible. If a job has several tasks, the
first one that suits the image is used. The jobs of an image depend on the image folder and the seed, not on existing
items.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.building.creval.sources import safe_filename
from creval.building.ice.control_images import DERIVABLE, MODEL_DERIVABLE, OUTPAINTING
from creval.building.ice.image_sets import ImageSet, tasks_from_folder
from creval.core.filenames import escape_draw_suffix
from creval.parsing.text_checks import text_digest

_MAX_STEM_BYTES = 70  # bytes of the image's part of an item id


class ItemJob(NamedTuple):
    """An item to create.

    - `key`: name of the image, or a digest of the row in an item table.
    - `id_stem`: the part of the item's id that comes from the image's name (ids are `TASK-STEM`).
    - `tasks`: possible tasks. The first one that suits the image is used.
    - `position`: number of this item among the items of the same image, from 1.
    - `task_is_certain`: the task is given by a folder or a table, and does not depend on a model's opinion.
    - `instruction`, `source_type`: values from the item table.
    """

    key: str
    id_stem: str
    image_set: ImageSet
    tasks: tuple[Task, ...]
    position: int = 1
    task_is_certain: bool = False
    instruction: str = ""
    source_type: str = ""

    @property
    def id(self) -> str:
        """Id of the job. If the job has only one task, this is the item's id."""
        [first, *others] = self.tasks
        return f"{self.key}: item {self.position}" if others else self.item_id(first)

    def item_id(self, task: Task) -> str:
        return f"{task_slug(task)}-{self.id_stem}"


class TaskSelection(NamedTuple):
    """Selected tasks, number of items per image, and the kinds of control images to derive from photographs.

    `derived` names a kind of control image by the metric that measures it, or by the name of the outpainting task.
    """

    tasks: frozenset[str] = frozenset(TASKS)
    items_per_image: int = 1
    derived: frozenset[str] = frozenset()


class ExistingItem(NamedTuple):
    """An existing item: the key of its job, its task, and the part of its id that comes from the image's name."""

    key: str
    task: str
    id_stem: str


def task_slug(task: Task) -> str:
    """Return a task's name as it is used in file names, such as `text-to-image-creating`."""
    return re.sub(r"[^a-z]+", "-", task.name.casefold()).strip("-")


def make_id_stem(name: str) -> str:
    """Return the part of item ids that comes from an image: its path without suffix and folders that name a task.

    An ending such as `--2` is changed, because it would look like the second draw of another sample.

    >>> make_id_stem("Face Swap/family/aunt.png"), make_id_stem("cat--2.png")
    ('family_aunt', 'cat_2')
    """
    *folders, last = PurePosixPath(name).with_suffix("").parts or ("",)
    kept = [folder for folder in folders if not tasks_from_folder(f"{folder}/")]
    base = safe_filename("/".join([*kept, last]), _MAX_STEM_BYTES)
    return escape_draw_suffix(f"-{base}").removeprefix("-")  # it follows the task's name and a dash


def assign_id_stems(names: Iterable[str], existing: Collection[ExistingItem]) -> dict[str, str]:
    """Return the id stem of each image.

    Images with existing items keep their stem. If two images could have items with the same id, a digest is added.
    """
    found = {one.key: one.id_stem for one in existing if one.id_stem}
    taken = {(_filesystem_key(one.id_stem), one.task) for one in existing}
    for name in sorted(set(names) - found.keys()):
        base = found[name] = make_id_stem(name)
        items = {(_filesystem_key(base), task.name) for task in tasks_from_folder(name) or TASKS.values()}
        if items & taken:
            found[name] += f"-{text_digest(name)}"
        taken |= items
    return found


def _filesystem_key(base: str) -> str:
    """Return a key that is equal for names that some file systems treat as the same."""
    return unicodedata.normalize("NFC", base).casefold()


def is_selected(path: str, selection: TaskSelection) -> bool:
    """Return whether a path's folders name a selected task, or no task at all."""
    named = tasks_from_folder(path)
    return not named or any(task.name in selection.tasks for task in named)


def assign_tasks(
    image_sets: Mapping[str, ImageSet],
    id_stems: Mapping[str, str],
    selection: TaskSelection,
    seed: int,
    folder_name: str = "",
) -> tuple[dict[str, list[ItemJob]], dict[str, str]]:
    """Return the jobs of each image, and for each image without a job the reason.

    Images are in random order. Tasks are distributed as evenly as possible over the first N images, for every N.
    `folder_name` is the name of the images' root folder.
    """
    used = Counter(dict.fromkeys(TASKS, 0))
    jobs: dict[str, list[ItemJob]] = {}
    without: dict[str, str] = {}
    for name in sorted(image_sets, key=lambda name: _random_key(seed, name)):
        pieces, wanted = image_sets[name], tasks_from_folder(f"{folder_name}/{name}")
        tasks = [task for task in wanted or TASKS.values() if task.name in selection.tasks]
        sure = len(wanted) == 1
        reasons = {task: unfit_task_reason(task, pieces, sure, selection) for task in tasks}
        able = sorted(
            (task for task, reason in reasons.items() if not reason),
            key=lambda task: (used[task.name], _random_key(seed, f"{name}|{task.number}")),
        )
        parts = range(min(selection.items_per_image, len(able)))
        used.update(able[part].name for part in parts)
        jobs[name] = [
            ItemJob(name, id_stems[name], pieces, tuple(able[part :: selection.items_per_image]), part + 1, sure)
            for part in parts
        ]
        if not able:
            different = set(reasons.values())
            without[name] = different.pop() if len(different) == 1 else "it suits none of the tasks"
    return jobs, without


def find_pending_jobs(
    jobs: Sequence[ItemJob], existing: Collection[ExistingItem], selection: TaskSelection
) -> tuple[list[ItemJob], int]:
    """Return the jobs of one image that are not done, and the number of jobs that are done."""
    done = {one.task for one in existing if one.task in selection.tasks}
    left = [job for job in jobs if not done.intersection(task.name for task in job.tasks)]
    left = left[: max(0, len(jobs) - len(done))]
    return left, len(jobs) - len(left)


def _random_key(seed: int, name: str) -> str:
    return text_digest(f"{seed}|{name}")


def unfit_task_reason(
    task: Task,
    image_set: ImageSet,
    task_is_certain: bool,
    selection: TaskSelection,
    mask_hint: str = "NAME_mask.png",
    reference_hint: str = "NAME_ref1.png",
) -> str:
    """Return why a task does not fit the given images, or "".

    A task that was not given by a folder or a table fits only if it uses all given images. If it needs a control image,
    this must be derived.
    """
    derived = task.control_metric in selection.derived
    borders = task.name == OUTPAINTING and OUTPAINTING in selection.derived
    if task.has_source and image_set.image is None:
        return f"{task.name} needs an image to edit"
    if task.has_mask and image_set.mask is None and not borders:
        return f"{task.name} needs a mask ({mask_hint}){_derive_hint(task.name)}"
    if task.reference_metric and not image_set.references and (task.has_source or image_set.image is None):
        return f"{task.name} needs a reference image ({reference_hint})"
    if task.control_metric and not derived and not task_is_certain:
        return f"{task.name} needs a control image, in a folder of that name{_derive_hint(task.control_metric)}"
    unused = not task_is_certain and find_unused_images(task, image_set)
    return f"{task.name} does not use all given images" if unused else ""


def _derive_hint(what: str) -> str:
    """Return a hint that names the option to derive a missing image, or "" if it cannot be derived."""
    if what in MODEL_DERIVABLE:
        return f"; `derive` `metric_models` {what}=MODEL creates it"
    return "; `derive` creates it" if what in DERIVABLE else ""


def find_unused_images(task: Task, image_set: ImageSet) -> list[Path]:
    """Return the images of a set that a task does not use."""
    found = [] if task.has_mask else [image_set.mask]
    found += [] if task.reference_metric else [*image_set.references]
    found += [image_set.image] if image_set.references and not task.has_source else []
    return [path for path in found if path is not None]
