"""Editors whose skill is known. Each makes of a sample the scene that its edit shows."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from creval.touchstone.samples import Touchstone, another, carried_out, random_scene
from creval.touchstone.scene import BACKGROUNDS, FLAWS, PLACES, UNLINED, Scene, Small
from creval.touchstone.shapes import KINDS, SMALL
from creval.touchstone.sprites import COLOURS


def edited(sample: Touchstone, editor: str, seed: int = 0) -> Scene:
    """The scene of an editor's edit; the same for the same seed."""
    chance = random.Random(f"{editor} {seed} {sample.id} {sample.source.seed}")  # noqa: S311
    return EDITORS[editor](sample, chance)


def _faithful(sample: Touchstone, _: random.Random) -> Scene:
    """Does what it is told, and nothing else."""
    return sample.wanted


def _forgetful(sample: Touchstone, chance: random.Random) -> Scene:
    """Leaves out about half of what it is told."""
    count = len(sample.requirements)
    done = sorted(chance.sample(range(count), chance.randint(1, max(1, (count + 1) // 2))))
    return carried_out(sample.source, [sample.requirements[at] for at in done])


def _overeager(sample: Touchstone, chance: random.Random) -> Scene:
    """Does what it is told, and changes some of what should stay, as far as there is any."""
    scene = sample.wanted
    ways = [*_CHANGES]
    chance.shuffle(ways)
    left = chance.randint(2, 4)
    for change in ways:
        other = change(scene, chance)
        if _follows(sample, other) and _kept(sample, other) < _kept(sample, scene):
            scene, left = other, left - 1
            if not left:
                break
    return scene


def _follows(sample: Touchstone, scene: Scene) -> bool:
    return all(
        asked.check.answer(sample.source, scene) == asked.answer for asked in sample.asked["IF"]
    )


def _kept(sample: Touchstone, scene: Scene) -> int:
    return sum(
        asked.check.answer(sample.source, scene) == asked.answer for asked in sample.asked["VC"]
    )


def _lazy(sample: Touchstone, _: random.Random) -> Scene:
    """Returns the source."""
    return sample.source


def _clumsy(sample: Touchstone, chance: random.Random) -> Scene:
    """Does what it is told, and draws it badly."""
    scene = sample.wanted
    flaws = [f for f in FLAWS if f != "broken outlines" or scene.style not in UNLINED]
    chosen = chance.sample(flaws, chance.randint(1, 3))
    return replace(scene, flaws=tuple(chosen), seed=chance.randrange(2**31))


def _stranger(sample: Touchstone, chance: random.Random) -> Scene:
    """Brings another picture."""
    scene = random_scene(chance)
    while scene.kind == sample.source.kind:
        scene = random_scene(chance)
    return scene


EDITORS: dict[str, Callable[[Touchstone, random.Random], Scene]] = {
    "faithful": _faithful,
    "forgetful": _forgetful,
    "overeager": _overeager,
    "lazy": _lazy,
    "clumsy": _clumsy,
    "stranger": _stranger,
}
"""The editors by name."""


def _recoloured(scene: Scene, chance: random.Random) -> Scene:
    used = [scene.colour, *(extra.colour for extra in scene.extras)]
    return replace(scene, colour=another(chance, COLOURS, *used))


def _elsewhere(scene: Scene, chance: random.Random) -> Scene:
    return replace(scene, background=another(chance, BACKGROUNDS, scene.background))


def _repainted(scene: Scene, chance: random.Random) -> Scene:
    return replace(scene, backdrop=another(chance, COLOURS, scene.backdrop))


def _moved(scene: Scene, chance: random.Random) -> Scene:
    if scene.container:  # it would stick out
        return scene
    return replace(scene, place=another(chance, PLACES, scene.place))


def _resized(scene: Scene, chance: random.Random) -> Scene:
    return replace(scene, size=another(chance, ("small", "medium"), scene.size))


def _cleared(scene: Scene, chance: random.Random) -> Scene:
    if not scene.others:
        return scene
    gone = chance.choice(scene.others).kind
    return replace(scene, others=tuple(other for other in scene.others if other.kind != gone))


def _dotted(scene: Scene, chance: random.Random) -> Scene:
    if not scene.others:
        return scene
    kinds = {other.kind for other in scene.others}
    other = chance.choice(scene.others)
    new = Small(another(chance, SMALL, *kinds), another(chance, COLOURS), other.slot)
    return replace(scene, others=(*(o for o in scene.others if o != other), new))


def _undressed(scene: Scene, _: random.Random) -> Scene:
    return replace(scene, extras=tuple(e for e in scene.extras if e.kind != "sash"))


def _swapped(scene: Scene, chance: random.Random) -> Scene:
    return replace(scene, kind=another(chance, KINDS, scene.kind))


_CHANGES: tuple[Callable[[Scene, random.Random], Scene], ...] = (
    _recoloured, _elsewhere, _repainted, _moved, _resized, _cleared, _dotted, _undressed, _swapped,
)  # fmt: skip
