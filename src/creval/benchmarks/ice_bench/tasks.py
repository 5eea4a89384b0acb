"""ICE-Bench's 31 tasks: names, groups, formulas of dimensions, and weights.

A dimension is a linear combination of raw metrics. A task's score is the weighted sum of its
dimensions. Factors and weights are those of the paper's supplement B and of its authors' code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from creval.core.errors import CrevalError, require_known, unknown_name_error

DIMENSIONS = {
    "AES": "aesthetic quality",
    "IMG": "imaging quality",
    "PF": "prompt following",
    "SRC": "source consistency",
    "REF": "reference consistency",
    "CTRL": "controllability",
}
QA_METRIC = "VLLM-QA"
"""The raw metric that a judge answers: 1 if the instruction was followed, else 0."""
CATEGORIES = {
    "No-ref Image Creating": ("No-ref Image Creating",),
    "Ref Image Creating": ("Ref Image Creating",),
    "No-ref Image Editing": ("Global Editing", "Local Editing", "Controllable Generation"),
    "Ref Image Editing": ("Ref Image Editing",),
}
"""The categories (creating or editing, with or without references) and the groups of tasks in each."""
TASK_GROUPS = tuple(group for groups in CATEGORIES.values() for group in groups)
SUBJECT_SUBGROUP = "Subject Reference Editing"
"""Tasks 29 and 30. The release uses this name, and the paper's Table 5 combines them."""
_EDITING_WEIGHTS = {"AES": 0.3, "IMG": 0.3, "PF": 0.3, "SRC": 0.1}
GROUP_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "No-ref Image Creating": dict.fromkeys(("AES", "IMG", "PF"), 1 / 3),
    "Ref Image Creating": dict.fromkeys(("AES", "IMG", "PF", "REF"), 1 / 4),
    "Global Editing": _EDITING_WEIGHTS,
    "Local Editing": _EDITING_WEIGHTS,
    "Controllable Generation": {"AES": 0.3, "IMG": 0.3, "PF": 0.2, "CTRL": 0.2},
    "Ref Image Editing": {"AES": 0.25, "IMG": 0.25, "PF": 0.2, "REF": 0.2, "SRC": 0.1},
}
"""The weights of a task's dimensions, by group."""


class Formula(NamedTuple):
    """A dimension as a linear combination of raw metrics: `constant` plus the sum of factor * metric.

    >>> Formula({"clip_src": 0.5, "l1_src": -0.5}, 0.5)({"clip_src": 0.75, "l1_src": 0.25})
    0.75
    """

    factors: Mapping[str, float]
    constant: float = 0.0

    def __call__(self, raw: Mapping[str, float | None]) -> float | None:
        """Return the value, or None if a raw metric has no value."""
        total = self.constant
        for name, factor in self.factors.items():
            value = raw.get(name)
            if value is None:
                return None
            total += factor * value
        return total


class Task(NamedTuple):
    """A task: its number and name in the paper, name in the release, group, and the raw metrics of REF and CTRL."""

    number: int
    name: str
    release_name: str
    group: str
    reference_metric: str = ""
    control_metric: str = ""

    @property
    def category(self) -> str:
        return next(name for name, groups in CATEGORIES.items() if self.group in groups)

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the task's samples, by level."""
        tags = {"category": self.category, "task_group": self.group}
        if self.has_source and self.reference_metric == "subject":
            tags["task_subgroup"] = SUBJECT_SUBGROUP
        return tags | {"task": self.name}

    @property
    def has_source(self) -> bool:
        """True if samples have a source image, which is to be edited or is a control image."""
        return "Creating" not in self.group

    @property
    def has_mask(self) -> bool:
        """True if samples have a mask of the region to edit."""
        return self.group == "Local Editing" or self.number in (29, 30, 31)

    @property
    def has_question(self) -> bool:
        """True if a judge is asked about the edits."""
        return "Editing" in self.group


def _build_tasks() -> Iterable[Task]:
    creating, referring, everywhere, local, controlled, guided = TASK_GROUPS
    rows: list[tuple[str, ...]] = [
        ("Text-to-Image Creating", "Text2Image", creating),
        ("Face Reference Creating", "Face Reference Generation", referring, "face"),
        ("Style Reference Creating", "Style Reference Generation", referring, "style"),
        ("Subject Reference Creating", "Subject Reference Generation", referring, "subject"),
        *(
            (name, name, everywhere)
            for name in (
                "Color Editing",
                "Motion Editing",
                "Face Editing",
                "Texture Editing",
                "Style Editing",
                "Scene Editing",
                "Subject Addition",
                "Subject Removal",
                "Subject Change",
                "Text Render",
                "Text Removal",
                "Composite Editing",
            )
        ),
        *(
            (name, name, local)
            for name in (
                "Inpainting",
                "Outpainting",
                "Local Subject Addition",
                "Local Subject Removal",
                "Local Text Render",
                "Local Text Removal",
            )
        ),
        ("Pose-guided Generation", "Pose-guided Generation", controlled, "", "pose"),
        ("Edge-guided Generation", "Edge-guided Generation", controlled, "", "canny"),
        ("Depth-guided Generation", "Depth-guided Generation", controlled, "", "depth"),
        ("Image Colorization", "Image Colorize", controlled, "", "grey"),
        ("Image Deblurring", "Image Deblur", controlled, "", "ssim"),
        ("Style Transfer", "Style Reference Editing", guided, "style"),
        ("Subject-guided Inpainting", "Subject-guided Inpainting", guided, "subject"),
        ("Virtual Try On", "Virtual Try On", guided, "subject"),
        ("Face Swap", "Face Swap", guided, "face"),
    ]
    return (Task(number, *row) for number, row in enumerate(rows, 1))


TASKS: Mapping[str, Task] = {task.name: task for task in _build_tasks()}
"""The tasks by their names in the paper, in its order."""


def dimension_formulas(task: Task, *, as_released: bool = False) -> dict[str, Formula]:
    """Return the formulas of a task's dimensions.

    `as_released` uses the formulas of the authors' code where they differ from the paper.
    """
    following = Formula({"clip_cap": 1.0, QA_METRIC: 0.5} if task.has_question else {"clip_cap": 2.0})
    if task.control_metric == "grey":  # the result of colorization should also be colourful
        colours = {"clip_cap": 1.5, "colorfulness": 0.25}
        following = Formula(colours if as_released else {"clip_cap": 2.0, "colorfulness": 1.0})
    elif task.control_metric == "ssim":
        following = Formula({"imaging": 0.01})
    known = {
        "AES": Formula({"aesthetic": 0.1}),
        "IMG": Formula({"imaging": 0.01}),
        "PF": following,
        "SRC": Formula({"clip_src": 0.5, "l1_src": -0.5}, 0.5),
        "REF": Formula({task.reference_metric: 1.0}),
        "CTRL": Formula({task.control_metric: -1.0}, 1.0),  # these metrics are distances
    }
    if task.control_metric == "ssim":
        known["CTRL"] = Formula({"ssim": 1.0})
    return {name: known[name] for name in DIMENSIONS if name in GROUP_WEIGHTS[task.group]}


def _normalise_name(name: str) -> str:
    """Return a name without case, punctuation and known spelling variants."""
    return re.sub(r"[^a-z0-9]", "", name.casefold()).replace("referenced", "reference")


_NUMBER_RANGE = re.compile(r"\s*([0-9]{1,3})(?:\s*[-\u2013]\s*([0-9]{1,3}))?\s*")
_BY_NAME = {_normalise_name(name): task for task in TASKS.values() for name in (task.name, task.release_name)}


def find_task(name: str) -> Task | None:
    """Return a task by its name in the paper or in the release, or None."""
    return _BY_NAME.get(_normalise_name(name))


def find_tasks(name: str) -> tuple[Task, ...]:
    """Return the tasks that a name selects: a task, a group, a category, a number or a range of numbers.

    >>> [task.number for task in find_tasks("17-19")]
    [17, 18, 19]
    """
    if numbers := _NUMBER_RANGE.fullmatch(name):
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if not 1 <= first <= last <= len(TASKS):
            raise CrevalError(f"no task {name!r} exists: tasks are numbered from 1 to {len(TASKS)}.")
        return tuple(TASKS.values())[first - 1 : last]
    wanted = _normalise_name(name)
    if one := _BY_NAME.get(wanted):
        return (one,)
    found = [task for task in TASKS.values() if wanted in map(_normalise_name, task.tags.values())]
    if not found:
        raise unknown_name_error("task", name, [*CATEGORIES, *TASK_GROUPS, SUBJECT_SUBGROUP, *TASKS])
    return tuple(found)


def resolve_weights(weights: Mapping[str, float | Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """Return the weights of each task's dimensions, with the given weights applied.

    A key with a number is a dimension, and the number is its weight in all tasks. A key with a mapping is a task, a
    group or a category, and the mapping has the weights of its dimensions. The most specific key applies. Weights are
    scaled to a sum of 1. Tasks without given weights have the default ones.
    """
    found = {task.name: GROUP_WEIGHTS[task.group] for task in TASKS.values()}
    for_all = {name: of for name, of in weights.items() if not isinstance(of, Mapping)}
    if for_all:
        for name in for_all:
            if name not in DIMENSIONS and find_task(name) is not None:
                raise CrevalError(f"{name!r} is a task: give the weights of its dimensions by name.")
            require_known("dimension", name, DIMENSIONS)
        for task in TASKS.values():
            own = {name: for_all.get(name, 0.0) for name in GROUP_WEIGHTS[task.group]}
            found[task.name] = _normalise_weights(task, own)
    by_name = {name: of for name, of in weights.items() if isinstance(of, Mapping)}
    last: dict[str, str] = {}
    for name in sorted(by_name, key=_specificity):
        for task in find_tasks(name):
            before = last.get(task.name)
            if before is not None and _specificity(before) == _specificity(name):
                raise CrevalError(f"{before!r} and {name!r} both set the weights of {task.name}. Remove one of them.")
            for dimension in by_name[name]:
                require_known(f"dimension of {task.name}", dimension, GROUP_WEIGHTS[task.group])
            found[task.name] = _normalise_weights(task, by_name[name])
            last[task.name] = name
    return found


def _specificity(name: str) -> int:
    """Return 0 for a category, 1 for a group, 2 for a subgroup and 3 for a task."""
    wide = [list(map(_normalise_name, names)) for names in (CATEGORIES, TASK_GROUPS, (SUBJECT_SUBGROUP,))]
    return next((at for at, names in enumerate(wide) if _normalise_name(name) in names), len(wide))


def _normalise_weights(task: Task, weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    if not any(weights.values()):
        dimensions = ", ".join(GROUP_WEIGHTS[task.group])
        raise CrevalError(f"no dimension of {task.name} has a weight. Its dimensions are {dimensions}.")
    if not all(0 <= weight < math.inf for weight in weights.values()) or not 0 < total < math.inf:
        raise CrevalError(f"the weights of {task.name} must be zero or more, with a sum above zero.")
    return {name: weights.get(name, 0.0) / total for name in GROUP_WEIGHTS[task.group]}
