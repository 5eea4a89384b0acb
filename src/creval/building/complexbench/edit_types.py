"""ComplexBench-Edit's ten edit types, and the types of the steps of each level.

In the paper (arXiv 2506.12830, section 3.1.2), the types of a chain are drawn from a subset of the ten, which the paper
does not list. The subsets here are those that occur in the released instructions.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from creval.benchmarks.complexbench_edit.release import PARALLEL_ANY, STEP_DEPENDENCIES
from creval.core.errors import CrevalError, require_known
from creval.core.files import replace_lone_surrogates

OBJECT = ("add object", "change object", "delete object")
ATTRIBUTE = ("color", "pose", "material", "content", "text")
GLOBAL = ("change background", "change style")
MEANINGS: Mapping[str, str] = {
    "add object": "put something into the picture that is not there yet",
    "change object": "put something else in the place of an object",
    "delete object": "take an object away",
    "color": "give an object another colour",
    "pose": "let a person or an animal take another pose or make another movement",
    "material": "make an object, or a part of it, of another material",
    "content": "change what an object shows or holds, such as a screen, a plate or a vase",
    "text": "write words, given in quotation marks, on an object, or change those that are there",
    "change background": "put another scene behind everything, which stays as it is",
    "change style": "give the whole picture another style of drawing, painting or photography",
}
# A chain begins with a step that creates an object, since the next steps change that object.
_FIRST_STEP_TYPES = ("add object", "change object")
_SECOND_STEP_TYPES = ("add object", "color", "material", "content")
_THIRD_STEP_TYPES = ("color", "pose", "material", "content", "text", "add object")
_ALIVE_NAMES = "person bird cat dog horse sheep cow elephant bear zebra giraffe man woman child"
_ALIVE = frozenset(_ALIVE_NAMES.split())
PARALLEL = {
    "COCO-three-obj": (OBJECT, OBJECT, OBJECT),
    "COCO-two-obj-one-attr": (ATTRIBUTE, OBJECT, OBJECT),
    "COCO-obj-attr-global": (ATTRIBUTE, OBJECT, GLOBAL),
}
_ALL_TYPES = tuple(MEANINGS)
LEVELS: Mapping[str, Mapping[str, Sequence[Sequence[str]]]] = {
    "parallel": PARALLEL,
    "two-chain": {"two-chain": (_FIRST_STEP_TYPES, _SECOND_STEP_TYPES, _ALL_TYPES)},
    "three-chain": {"three-chain": (_FIRST_STEP_TYPES, ("add object",), _THIRD_STEP_TYPES)},
    "any": {PARALLEL_ANY: (_ALL_TYPES, _ALL_TYPES, _ALL_TYPES)},
}
"""Subsets of each level, and the possible types of each of their three steps."""
RELEASED_LEVELS = ("parallel", "two-chain", "three-chain")
_STEPS = 3


class EditTypePlan(NamedTuple):
    """Plan of a sample: its subset of the benchmark, and for each step its type and the earlier steps it depends on."""

    subset: str
    edit_types: tuple[str, ...]
    needs: tuple[tuple[int, ...], ...]


def select_levels(level: str) -> tuple[str, ...]:
    """Return the levels that a value of `level` selects: one level, or with "all" those of the release."""
    require_known("level", level, (*LEVELS, "all"))
    return RELEASED_LEVELS if level == "all" else (level,)


def parse_edit_types(given: str, levels: Collection[str] = ("any",)) -> tuple[str, ...]:
    """Return edit types separated by commas, or all if none are given. At least three are needed.

    >>> parse_edit_types("color, color, text")
    ('color', 'color', 'text')
    """
    names = [" ".join(part.split()) for part in given.split(",") if part.strip()]
    if names and "any" not in levels:
        raise CrevalError("`types` needs `level` any. The types of other levels follow the release.")
    for name in names:
        require_known("edit type", name, MEANINGS)
    if 0 < len(names) < _STEPS:
        raise CrevalError(f"`types` needs at least {_STEPS} edit types, because a sample has {_STEPS} steps.")
    return tuple(names) or _ALL_TYPES


def draw_any_types(types: Sequence[str], objects: Iterable[str], seed: str) -> EditTypePlan | None:
    """Draw three of the given types for parallel steps. None if fewer than three suit the objects.

    A type is drawn at most as often as it is given.
    """
    living = _has_living(objects)
    suitable = [kind for kind in types if kind != "pose" or living]
    if len(suitable) < _STEPS:
        return None
    rng = random.Random(replace_lone_surrogates(seed))  # noqa: S311
    return EditTypePlan(PARALLEL_ANY, tuple(rng.sample(suitable, _STEPS)), ((),) * _STEPS)


def _has_living(objects: Iterable[str]) -> bool:
    return any(word in _ALIVE for name in objects for word in name.casefold().split())


def draw_edit_types(level: str, objects: Iterable[str], seed: str, subset_index: int = 0) -> EditTypePlan:
    """Draw edit types for an image with the given objects, deterministically for a seed.

    `pose` is drawn only if a person or an animal is among the objects. `subset_index` selects a subset of the level,
    in rotation.
    """
    rng = random.Random(replace_lone_surrogates(seed))  # noqa: S311
    alive = _has_living(objects)
    subsets = LEVELS[level]
    subset = list(subsets)[subset_index % len(subsets)]
    kinds = tuple(rng.choice([kind for kind in pool if kind != "pose" or alive]) for pool in subsets[subset])
    return EditTypePlan(subset, kinds, STEP_DEPENDENCIES.get(subset, ((),) * len(kinds)))
