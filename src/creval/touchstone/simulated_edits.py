"""Simulated editors with known skills. Each is a function that returns the scene of its edit of a sample."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from creval.touchstone.samples import TouchstoneSample, apply_requirements, choose_other, random_scene
from creval.touchstone.scene import BACKGROUNDS, FLAWS, PLACES, UNLINED_STYLES, Scene, SmallObject
from creval.touchstone.shapes import SMALL_KINDS, SUBJECT_KINDS
from creval.touchstone.sprites import COLOURS


def simulate_edit(sample: TouchstoneSample, editor: str, seed: int = 0) -> Scene:
    """Return the scene of an editor's edit. The same seed gives the same scene."""
    chance = random.Random(f"{editor} {seed} {sample.id} {sample.source.seed}")  # noqa: S311
    return SIMULATED_EDITORS[editor](sample, chance)


def _faithful(sample: TouchstoneSample, _: random.Random) -> Scene:
    """Follow the instruction and change nothing else."""
    return sample.target_scene


def _forgetful(sample: TouchstoneSample, rng: random.Random) -> Scene:
    """Leave out about half of the requirements."""
    count = len(sample.requirements)
    done = sorted(rng.sample(range(count), rng.randint(1, max(1, (count + 1) // 2))))
    return apply_requirements(sample.source, [sample.requirements[at] for at in done])


def _overeager(sample: TouchstoneSample, rng: random.Random) -> Scene:
    """Follow the instruction, and change some things that should be preserved."""
    scene = sample.target_scene
    changes = [*_CHANGES]
    rng.shuffle(changes)
    left = rng.randint(2, 4)
    for change in changes:
        other = change(scene, rng)
        follows = _count_right(sample, "IF", other) == len(sample.questions["IF"])
        if follows and _count_right(sample, "VC", other) < _count_right(sample, "VC", scene):
            scene, left = other, left - 1
            if not left:
                break
    return scene


def _count_right(sample: TouchstoneSample, metric: str, scene: Scene) -> int:
    return sum(asked.check.answer(sample.source, scene) == asked.answer for asked in sample.questions[metric])


def _lazy(sample: TouchstoneSample, _: random.Random) -> Scene:
    """Return the source unchanged."""
    return sample.source


def _clumsy(sample: TouchstoneSample, rng: random.Random) -> Scene:
    """Follow the instruction, but draw with flaws."""
    scene = sample.target_scene
    flaws = [f for f in FLAWS if f != "broken outlines" or scene.style not in UNLINED_STYLES]
    chosen = rng.sample(flaws, rng.randint(1, 3))
    return replace(scene, flaws=tuple(chosen), seed=rng.randrange(2**31))


def _stranger(sample: TouchstoneSample, rng: random.Random) -> Scene:
    """Return an unrelated image."""
    scene = random_scene(rng)
    while scene.kind == sample.source.kind:
        scene = random_scene(rng)
    return scene


SIMULATED_EDITORS: dict[str, Callable[[TouchstoneSample, random.Random], Scene]] = {
    "faithful": _faithful,
    "forgetful": _forgetful,
    "overeager": _overeager,
    "lazy": _lazy,
    "clumsy": _clumsy,
    "stranger": _stranger,
}
"""Simulated editors by name."""


def _recolour(scene: Scene, rng: random.Random) -> Scene:
    used = [scene.colour, *(extra.colour for extra in scene.extras)]
    return replace(scene, colour=choose_other(rng, COLOURS, *used))


def _vary(field: str, options: Iterable[str], scene: Scene, rng: random.Random) -> Scene:
    """Change one field of a scene to another random value."""
    changed: dict[str, Any] = {field: choose_other(rng, options, getattr(scene, field))}
    return replace(scene, **changed)


def _move(scene: Scene, rng: random.Random) -> Scene:
    return scene if scene.container else _vary("place", PLACES, scene, rng)  # a container does not move along


def _remove_objects(scene: Scene, rng: random.Random) -> Scene:
    if not scene.others:
        return scene
    gone = rng.choice(scene.others).kind
    return replace(scene, others=tuple(other for other in scene.others if other.kind != gone))


def _replace_object(scene: Scene, rng: random.Random) -> Scene:
    if not scene.others:
        return scene
    kinds = {other.kind for other in scene.others}
    other = rng.choice(scene.others)
    new = SmallObject(choose_other(rng, SMALL_KINDS, *kinds), choose_other(rng, COLOURS), other.slot)
    return replace(scene, others=(*(o for o in scene.others if o != other), new))


def _remove_sash(scene: Scene, _: random.Random) -> Scene:
    return replace(scene, extras=tuple(e for e in scene.extras if e.kind != "sash"))


_CHANGES: tuple[Callable[[Scene, random.Random], Scene], ...] = (
    _recolour,
    partial(_vary, "background", BACKGROUNDS),
    partial(_vary, "backdrop", COLOURS),
    _move,
    partial(_vary, "size", ("small", "medium")),
    _remove_objects,
    _replace_object,
    _remove_sash,
    partial(_vary, "kind", SUBJECT_KINDS),
)
