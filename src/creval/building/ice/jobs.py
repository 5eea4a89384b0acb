"""Which items are to be made: of which images, and for which task.

Images whose folder names no task get one by chance, all as often as can be. Of several tasks that are possible the
first is made that suits the image. What is made of an image depends on the folder and the seed, never on what is there
already.
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
from creval.building.ice.control_images import DEPTH, DERIVABLE, OUTPAINTING
from creval.building.ice.image_sets import ImageSet, tasks_from_folder
from creval.core.filenames import escape_draw_suffix
from creval.parsing.text_checks import text_digest

_MAX_STEM_BYTES = 70  # bytes of a picture's part in an item's id


class ItemJob(NamedTuple):
    """An item to be made; `tasks` are tried in their order.

    `key` tells what it is made of: an image's name, or a row of a table. Somebody may be `task_is_certain` of the task;
    `instruction` and `source_type` are what they said.
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
        """A name for what is asked, also where the task is still open."""
        [first, *others] = self.tasks
        return f"{self.key}: item {self.position}" if others else self.item_id(first)

    def item_id(self, task: Task) -> str:
        return f"{task_slug(task)}-{self.id_stem}"


class TaskSelection(NamedTuple):
    """What can be chosen about the tasks: which, how many an image, and which control images are made of photographs
    (`derived`, by the metrics that measure them)."""

    tasks: frozenset[str] = frozenset(TASKS)
    items_per_image: int = 1
    derived: frozenset[str] = frozenset()


class ExistingItem(NamedTuple):
    """An item that is there: what it was made of, its task, and its image's part of its id."""

    key: str
    task: str
    id_stem: str


def task_slug(task: Task) -> str:
    """Return a task's name in a file's name, such as `text-to-image-creating`."""
    return re.sub(r"[^a-z]+", "-", task.name.casefold()).strip("-")


def make_id_stem(name: str) -> str:
    """Return an image's part in items' ids: its path, without its ending and folders that name its task, and without
    what would make it another item's draw.

    >>> make_id_stem("Face Swap/family/aunt.png"), make_id_stem("cat--2.png")
    ('family_aunt', 'cat_2')
    """
    *folders, last = PurePosixPath(name).with_suffix("").parts or ("",)
    kept = [folder for folder in folders if not tasks_from_folder(f"{folder}/")]
    base = safe_filename("/".join([*kept, last]), _MAX_STEM_BYTES)
    return escape_draw_suffix(f"-{base}").removeprefix("-")  # behind a task's name, with a dash


def assign_id_stems(names: Iterable[str], existing: Collection[ExistingItem]) -> dict[str, str]:
    """Return such a part for each image. One that has items keeps its own; where another one could give items of the
    same name, a digest tells it apart."""
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
    """Return what some systems take as the same name."""
    return unicodedata.normalize("NFC", base).casefold()


def is_selected(path: str, selection: TaskSelection) -> bool:
    """Return whether an image is for a task that is chosen, or its folder names none."""
    named = tasks_from_folder(path)
    return not named or any(task.name in selection.tasks for task in named)


def assign_tasks(
    image_sets: Mapping[str, ImageSet],
    id_stems: Mapping[str, str],
    selection: TaskSelection,
    seed: int,
    folder_name: str = "",
) -> tuple[dict[str, list[ItemJob]], dict[str, str]]:
    """Return jobs for each image, by its part in items' ids (`id_stems`), and the reasons why there is none for some.
    The first so many of them have all tasks as often as can be; `folder_name` is the name of the folder of all."""
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
            said = set(reasons.values())
            without[name] = said.pop() if len(said) == 1 else "none of the tasks can be made of it"
    return jobs, without


def find_pending_jobs(
    jobs: Sequence[ItemJob], existing: Collection[ExistingItem], selection: TaskSelection
) -> tuple[list[ItemJob], int]:
    """Return those of one image's jobs that are not done, and how many are."""
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
    """Return why images cannot serve a task. What somebody brought is used: with a mask or a reference, tasks without
    are for those only who are `task_is_certain`; so are images that control as they are."""
    derived = task.control_metric in selection.derived
    borders = task.name == OUTPAINTING and OUTPAINTING in selection.derived
    if task.has_source and image_set.image is None:
        return f"{task.name} needs a picture to edit"
    if task.has_mask and image_set.mask is None and not borders:
        return f"{task.name} needs a mask ({mask_hint}){_derive_hint(task.name)}"
    if task.reference_metric and not image_set.references and (task.has_source or image_set.image is None):
        return f"{task.name} needs a reference picture ({reference_hint})"
    if task.control_metric and not derived and not task_is_certain:
        return f"{task.name} needs a control picture, in a folder of that name{_derive_hint(task.control_metric)}"
    idle = not task_is_certain and find_unused_images(task, image_set)
    return f"{task.name} does not use all that was brought" if idle else ""


def _derive_hint(what: str) -> str:
    """Return how to have what is missing made, if that can be."""
    if what == DEPTH:
        return "; `derive` `metric_models` depth=MODEL makes it"
    return "; `derive` makes it" if what in DERIVABLE else ""


def find_unused_images(task: Task, image_set: ImageSet) -> list[Path]:
    """Return what a task leaves aside of the images that belong together."""
    found = [] if task.has_mask else [image_set.mask]
    found += [] if task.reference_metric else [*image_set.references]
    found += [image_set.image] if image_set.references and not task.has_source else []
    return [path for path in found if path is not None]
