"""Which items are to be made: of which pictures, and for which task.

Pictures whose folder names no task get one by chance, all as often as can be. Of several tasks that
are possible the first is made that suits the picture. What is made of a picture depends on the
folder and the seed, never on what is there already.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from creval.benchmarks.ice_bench.tasks import TASKS, Task
from creval.building.creval.sources import safe_name
from creval.building.ice.control_images import DEPTH, DERIVED, OUTPAINTING
from creval.building.ice.image_sets import Pieces, named_by_folder
from creval.core.filenames import unlike_draws
from creval.parsing.text_checks import digest

_LONGEST = 70  # bytes of a picture's part in an item's id


class Job(NamedTuple):
    """An item to be made; `tasks` are tried in their order.

    `key` tells what it is made of: a picture's name, or a row of a table. Somebody may be `sure` of
    the task; `instruction` and `source_type` are what they said.
    """

    key: str
    base: str
    pieces: Pieces
    tasks: tuple[Task, ...]
    part: int = 1
    sure: bool = False
    instruction: str = ""
    source_type: str = ""

    @property
    def id(self) -> str:
        """A name for what is asked, also where the task is still open."""
        [first, *others] = self.tasks
        return f"{self.key}: item {self.part}" if others else self.item(first)

    def item(self, task: Task) -> str:
        """The item's id."""
        return f"{slug(task)}-{self.base}"


class Choice(NamedTuple):
    """What can be chosen about the tasks: which, how many a picture, and which control pictures are
    made of photographs (`derived`, by the gauges that measure them)."""

    tasks: frozenset[str] = frozenset(TASKS)
    each: int = 1
    derived: frozenset[str] = frozenset()


class There(NamedTuple):
    """An item that is there: what it was made of, its task, and its picture's part of its id."""

    key: str
    task: str
    base: str


def slug(task: Task) -> str:
    """A task's name in a file's name.

    >>> slug(TASKS["Text-to-Image Creating"])
    'text-to-image-creating'
    """
    return re.sub(r"[^a-z]+", "-", task.name.casefold()).strip("-")


def base_of(name: str) -> str:
    """A picture's part in items' ids: its path, without its ending and folders that name its task,
    and without what would make it another item's draw.

    >>> base_of("Face Swap/family/aunt.png")
    'family_aunt'
    >>> base_of("cat--2.png")
    'cat_2'
    """
    *folders, last = PurePosixPath(name).with_suffix("").parts or ("",)
    kept = [folder for folder in folders if not named_by_folder(f"{folder}/")]
    base = safe_name("/".join([*kept, last]), _LONGEST)
    return unlike_draws(f"-{base}").removeprefix("-")  # behind a task's name, with a dash


def bases(names: Iterable[str], there: Collection[There]) -> dict[str, str]:
    """Such a part for each picture. One that has items keeps its own; where another one could give
    items of the same name, a digest tells it apart."""
    found = {one.key: one.base for one in there if one.base}
    taken = {(_alike(one.base), one.task) for one in there}
    for name in sorted(set(names) - found.keys()):
        base = found[name] = base_of(name)
        items = {(_alike(base), task.name) for task in named_by_folder(name) or TASKS.values()}
        if items & taken:
            found[name] += f"-{digest(name)}"
        taken |= items
    return found


def _alike(base: str) -> str:
    """What some systems take as the same name."""
    return unicodedata.normalize("NFC", base).casefold()


def is_wanted(path: str, choice: Choice) -> bool:
    """Whether a picture is for a task that is chosen, or its folder names none."""
    named = named_by_folder(path)
    return not named or any(task.name in choice.tasks for task in named)


def assigned(
    found: Mapping[str, Pieces], base: Mapping[str, str], choice: Choice, seed: int, named: str = ""
) -> tuple[dict[str, list[Job]], dict[str, str]]:
    """Jobs for each picture, by its part in items' ids (`base`), and the reasons why there is none
    for some. The first so many of them have all tasks as often as can be; `named` is the name of
    the folder of all."""
    used = Counter(dict.fromkeys(TASKS, 0))
    jobs: dict[str, list[Job]] = {}
    without: dict[str, str] = {}
    for name in sorted(found, key=lambda name: _drawn(seed, name)):
        pieces, wanted = found[name], named_by_folder(f"{named}/{name}")
        tasks = [task for task in wanted or TASKS.values() if task.name in choice.tasks]
        sure = len(wanted) == 1
        reasons = {task: unfit(task, pieces, sure, choice) for task in tasks}
        able = sorted(
            (task for task, reason in reasons.items() if not reason),
            key=lambda task: (used[task.name], _drawn(seed, f"{name}|{task.number}")),
        )
        parts = range(min(choice.each, len(able)))
        used.update(able[part].name for part in parts)
        jobs[name] = [
            Job(name, base[name], pieces, tuple(able[part :: choice.each]), part + 1, sure)
            for part in parts
        ]
        if not able:
            without[name] = _why(reasons)
    return jobs, without


def still_to_make(
    jobs: Sequence[Job], there: Collection[There], choice: Choice
) -> tuple[list[Job], int]:
    """Of one picture's jobs those that are not done, and how many are."""
    done = {one.task for one in there if one.task in choice.tasks}
    left = [job for job in jobs if not done.intersection(task.name for task in job.tasks)]
    left = left[: max(0, len(jobs) - len(done))]
    return left, len(jobs) - len(left)


def _why(reasons: Mapping[Task, str]) -> str:
    said = dict.fromkeys(reasons.values())
    return next(iter(said)) if len(said) == 1 else "none of the tasks can be made of it"


def _drawn(seed: int, name: str) -> str:
    return digest(f"{seed}|{name}")


class Hints(NamedTuple):
    """How to bring what a task needs."""

    mask: str = "NAME_mask.png"
    reference: str = "NAME_ref1.png"


def unfit(
    task: Task, pieces: Pieces, sure: bool, choice: Choice, hints: Hints | None = None
) -> str:
    """Why pictures cannot serve a task. What somebody brought is used: with a mask or a reference,
    tasks without are for those only who are `sure`; so are pictures that control as they are."""
    mask, reference = hints or Hints()
    derived = task.control in choice.derived
    borders = task.name == OUTPAINTING and OUTPAINTING in choice.derived
    if task.edits and pieces.picture is None:
        return f"{task.name} needs a picture to edit"
    if task.masked and pieces.mask is None and not borders:
        return f"{task.name} needs a mask ({mask}){_made(task.name)}"
    if task.reference and not pieces.references and (task.edits or pieces.picture is None):
        return f"{task.name} needs a reference picture ({reference})"
    if task.control and not derived and not sure:
        return f"{task.name} needs a control picture, in a folder of that name{_made(task.control)}"
    idle = not sure and unused(task, pieces)
    return f"{task.name} does not use all that was brought" if idle else ""


def _made(what: str) -> str:
    """How to have what is missing made, if that can be."""
    if what == DEPTH:
        return "; --derive --gauge depth=MODEL makes it"
    return "; --derive makes it" if what in DERIVED else ""


def unused(task: Task, pieces: Pieces) -> list[Path]:
    """What a task leaves aside of the pictures that belong together."""
    found = [] if task.masked else [pieces.mask]
    found += [] if task.reference else [*pieces.references]
    found += [pieces.picture] if pieces.references and not task.edits else []
    return [path for path in found if path is not None]
