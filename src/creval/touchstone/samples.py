"""Samples: a scene, an instruction of several requirements, and the questions about edits."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS
from creval.core.errors import require_count
from creval.touchstone.scene import (
    BACKGROUNDS,
    COLOURLESS_STYLES,
    FRAMES,
    PATTERNS,
    PLACES,
    SLOTS,
    UNLINED_STYLES,
    Extra,
    Scene,
    SmallObject,
)
from creval.touchstone.scene_questions import CORNERS, NUMBERS, SCENERIES, Check, with_article
from creval.touchstone.shapes import PLURALS, SMALL_KINDS, SUBJECT_KINDS, UNSUITABLE_EXTRAS
from creval.touchstone.sprites import COLOURS, MATERIALS

TEXTS = (
    "OPEN DAY",
    "FOR YOU",
    "NO. 7",
    "THE END",
    "MEANWHILE",
    "BEST PRICE",
    "LUCKY 13",
    "HELLO",
    "SEASON 2",
    "TRY ME",
    "ONE DAY ...",
    "GOOD LUCK",
)
"""Texts of banners."""
_MIN_QUESTIONS = 5  # per metric
_WEARABLES = ("wings", "wheels", "crown", "hat")
_LIST_FIELDS = frozenset({"extras", "others"})  # fields of a scene with several values


class TouchstoneQuestion(NamedTuple):
    """A question with its true answer and its weight."""

    check: Check
    answer: bool
    weight: int = 1


def _yes(name: str, *given: str, weight: int = 1) -> TouchstoneQuestion:
    return TouchstoneQuestion(Check(name, given), True, weight)


def _no(name: str, *given: str, weight: int = 1) -> TouchstoneQuestion:
    return TouchstoneQuestion(Check(name, given), False, weight)


@dataclass(frozen=True)
class Requirement:
    """One part of an instruction: its words, its changes to a scene, and the questions that check it."""

    words: str
    changes: Mapping[str, Any]
    questions: tuple[TouchstoneQuestion, ...] = ()

    def apply(self, scene: Scene) -> Scene:
        """Return the scene after this requirement's changes. List fields are extended, other fields replaced."""
        changed: dict[str, Any] = {
            name: (*getattr(scene, name), *value) if name in _LIST_FIELDS else value
            for name, value in self.changes.items()
        }
        return replace(scene, **changed)


@dataclass(frozen=True)
class TouchstoneSample:
    """A sample with its questions by metric."""

    id: str
    dimension: str
    source: Scene
    requirements: tuple[Requirement, ...]
    instruction: str
    questions: Mapping[str, tuple[TouchstoneQuestion, ...]]

    @property
    def target_scene(self) -> Scene:
        """Scene that the instruction asks for."""
        return apply_requirements(self.source, self.requirements)

    @property
    def steps(self) -> tuple[str, ...]:
        """The requirements as separate instructions."""
        named = (_name_subject(required.words, self.source.kind) for required in self.requirements)
        return tuple(f"{_capitalise(words)}." for words in named)

    def step_sample(self, scene: Scene, index: int) -> TouchstoneSample:
        """Return a sample with only one of the requirements, for an image of the given scene."""
        required = self.requirements[index]
        wanted = required.apply(scene)
        done = [a for a in self.questions["IF"] if a.check.answer(scene, wanted) == a.answer]
        asked = {**self.questions, "IF": tuple(done)}
        return replace(self, source=scene, requirements=(required,), questions=asked)


def apply_requirements(scene: Scene, requirements: Iterable[Requirement]) -> Scene:
    for requirement in requirements:
        scene = requirement.apply(scene)
    return scene


def make_samples(count: int, seed: int) -> list[TouchstoneSample]:
    """Return `count` samples that go through all dimensions in turn. The same seed gives the same samples."""
    return [_make_sample(number, seed) for number in range(1, require_count("samples", count, 1, 9999) + 1)]


def _make_sample(number: int, seed: int) -> TouchstoneSample:
    chance = random.Random(f"touchstone {seed} {number}")  # noqa: S311
    dimension = CLASS_DIMENSIONS[(number - 1) % len(CLASS_DIMENSIONS)]
    while True:
        source = random_scene(chance, dressed=_DIMENSIONS[dimension][0] is not _cultural)
        make = _RequirementFactory(source, chance)
        requirements = _requirements(make, dimension)
        asked = _build_questions(source, requirements, chance)
        if min(map(len, asked.values())) >= _MIN_QUESTIONS:
            break
    instruction = _format_instruction(requirements, source.kind, chance)
    return TouchstoneSample(f"t{number:04d}", dimension, source, tuple(requirements), instruction, asked)


def random_scene(rng: random.Random, *, dressed: bool = True) -> Scene:
    """Return a random source scene. If `dressed`, the subject may wear a sash."""
    kind, colour = rng.choice(list(SUBJECT_KINDS)), rng.choice(list(COLOURS))
    slots = rng.sample(list(SLOTS), rng.randint(1, 3))
    small = rng.sample(list(SMALL_KINDS), 2)
    tones = [rng.choice(list(COLOURS)) for _ in small]
    pick = [rng.randrange(2) for _ in slots]
    sash = Extra("sash", choose_other(rng, COLOURS, colour), rng.choice(PATTERNS))
    return Scene(
        kind,
        colour,
        size=rng.choice(("small", "medium", "medium")),
        place=rng.choice(list(PLACES)),
        extras=(sash,) if dressed and rng.random() < 0.3 else (),
        others=tuple(SmallObject(small[n], tones[n], slot) for n, slot in zip(pick, slots, strict=True)),
        background=rng.choice(BACKGROUNDS),
        backdrop=rng.choice(list(COLOURS)),
        seed=rng.randrange(2**31),
    )


def choose_other(rng: random.Random, options: Iterable[str], *excluded: str) -> str:
    """Return a random option that is not excluded."""
    return rng.choice([option for option in options if option not in excluded])


class _RequirementFactory:
    """Random requirements for one scene that do not contradict each other."""

    def __init__(self, source: Scene, rng: random.Random) -> None:
        self.source, self.rng, self.noun = source, rng, source.kind
        self.free_slots = [slot for slot in SLOTS if slot not in {o.slot for o in source.others}]
        self.absent_kinds = [kind for kind in SMALL_KINDS if source.count(kind) == 0]
        rng.shuffle(self.absent_kinds)
        # Colours of the body, which extras must not have, and of extras, which the body must not get.
        self.body_colours = {source.colour}
        self.extra_colours = {extra.colour for extra in source.extras}

    def choose(self, *options: str) -> str:
        return self.rng.choice(options)

    def transform(self, words: tuple[str, ...], changes: dict[str, Any], *questions: TouchstoneQuestion) -> Requirement:
        """Return a requirement with these changes and questions, in a random one of the given wordings."""
        return Requirement(self.choose(*words), changes, questions)

    def wear(self, *kinds: str) -> Requirement:
        kind = choose_other(self.rng, kinds, UNSUITABLE_EXTRAS.get(self.noun, ""))
        colour = choose_other(self.rng, COLOURS, *self.body_colours)
        self.extra_colours.add(colour)
        pattern = self.rng.choice(PATTERNS[1:]) if kind == "sash" else "plain"
        looks = f"{colour} {pattern} sash"
        words = {
            "wings": (f"give it {colour} wings", f"let {colour} wings grow from its sides"),
            "wheels": (f"put it on {colour} wheels", f"set {colour} wheels under it"),
            "crown": (f"set {with_article(colour)} crown on top of it", f"crown it with {with_article(colour)} crown"),
            "hat": (f"put a pointed {colour} hat on it", f"let it wear a tall {colour} hat"),
            "sash": (f"tie {with_article(looks)} around it", f"dress it with {with_article(looks)}"),
        }[kind]
        asked = [_yes("has", self.noun, kind), _yes("extra colour", kind, colour)]
        if kind == "sash":
            asked.append(_yes("pattern", pattern))
        return self.transform(words, {"extras": (Extra(kind, colour, pattern),)}, *asked)

    def add(self) -> Requirement | None:
        if not self.free_slots or not self.absent_kinds:
            return None
        kind, colour = self.absent_kinds.pop(), self.rng.choice(list(COLOURS))
        number = min(len(self.free_slots), self.rng.choice((1, 1, 2, 3, 4)))
        slots = self.rng.sample(self.free_slots, number)
        self.free_slots = [slot for slot in self.free_slots if slot not in slots]
        asked = [_yes("count", kind, NUMBERS[number]), _yes("all colour", kind, colour)]
        if number > 1:
            things = f"{NUMBERS[number]} {colour} {PLURALS[kind]}"
            words = self.choose("add {}", "place {} around it", "let {} appear around it", "draw {}")
        elif slots[0] in CORNERS:
            things = with_article(f"{colour} {kind}")
            words = self.choose("add {} ", "put {} ", "place {} ") + CORNERS[slots[0]]
            asked.append(_yes("corner", kind, slots[0]))
        else:
            things = self.choose("a single", "just one", "one") + f" {colour} {kind}"
            words = self.choose("add {} at the top", "let {} hang in the air", "draw {}")
        changes = {"others": tuple(SmallObject(kind, colour, slot) for slot in slots)}
        return Requirement(words.format(things), changes, tuple(asked))

    def write(self) -> Requirement:
        text = self.rng.choice(TEXTS)
        words = self.choose(
            "write “{}” on a banner below",
            "add a banner that reads “{}”",
            "put a sign with the words “{}” at the bottom",
        )
        return Requirement(words.format(text), {"text": text}, (_yes("banner"), _yes("reads", text)))

    def recolour(self) -> Requirement:
        colour = choose_other(self.rng, COLOURS, self.source.colour, *self.extra_colours)
        self.body_colours.add(colour)
        words = self.choose(f"paint it {colour}", f"change its colour to {colour}")
        asked = (_yes("colour", self.noun, colour), _no("colour", self.noun, self.source.colour))
        return Requirement(words, {"colour": colour}, asked)

    def move(self) -> Requirement:
        place = choose_other(self.rng, PLACES, self.source.place)
        side = {"centre": "into the centre"}.get(place, f"to the {place}")
        words = self.choose(f"move it {side}", f"shift it {side}")
        asked = (_yes("place", self.noun, place), _no("place", self.noun, self.source.place))
        return Requirement(words, {"place": place}, asked)

    def enlarge(self) -> Requirement:
        words = self.choose("make it much larger", "let it fill more of the picture")
        asked = (_yes("larger", self.noun), _no("same size", self.noun))
        return Requirement(words, {"size": "large"}, asked)

    def change_background(self) -> Requirement:
        background = choose_other(self.rng, BACKGROUNDS, self.source.background)
        scenery = SCENERIES[background]
        words = self.choose(f"change the background to {scenery}", f"set it before {scenery}")
        asked = (_yes("background", background), _no("background", self.source.background))
        return Requirement(words, {"background": background}, asked)


def _derivative(make: _RequirementFactory) -> Requirement:
    noun = make.noun
    words = (
        f"Turn the {noun} into a sticker with a white border",
        f"Make a die-cut sticker of the {noun}, with a white edge",
        f"Let the {noun} become a collectible sticker with a white rim",
    )
    return make.transform(words, {"sticker": True}, _yes("sticker", noun))


def _reimagined(make: _RequirementFactory) -> Requirement:
    frame = make.choose(*FRAMES)
    what = {
        "stamp": "a postage stamp with a perforated edge",
        "playing card": "a playing card with a white border",
        "film strip": "a frame of a film strip",
    }[frame]
    other = choose_other(make.rng, FRAMES, frame)
    words = tuple(f"{verb} the {make.noun} as {what}" for verb in ("Reimagine", "Present", "Show"))
    return make.transform(words, {"frame": frame}, _yes("frame", frame), _no("frame", other))


def _surreal(make: _RequirementFactory) -> Requirement:
    part = make.wear("wings", "wheels")
    starts = (f"Let the {make.noun} become a dream creature", f"Turn the {make.noun} into a hybrid")
    return replace(part, words=f"{make.choose(*starts)}: {part.words}")


def _style(make: _RequirementFactory) -> Requirement:
    style = make.choose("pencil sketch", "pixel art", "flat poster", "blueprint")
    what = {"pixel art": style, "flat poster": "a poster of few flat colours"}.get(style, with_article(style))
    words = (
        f"Redraw the whole picture with the {make.noun} as {what}",
        f"Turn the scene with the {make.noun} into {what}",
    )
    return make.transform(words, {"style": style}, _yes("style", style), _no("style", "painting"))


def _cultural(make: _RequirementFactory) -> Requirement:
    sash = make.wear("sash")
    starts = (f"Dress the {make.noun} for a village feast", f"Give the {make.noun} a costume")
    return replace(sash, words=f"{make.choose(*starts)}: {sash.words}")


def _resembling_materials(scene: Scene) -> tuple[str, ...]:
    """Return the materials that a subject looks like anyway, such as wood for a boat or gold for a yellow cat."""
    wooden = ("wood",) if scene.kind in ("boat", "guitar", "house", "tree") else ()
    stony = ("stone",) if scene.kind == "house" else ()
    golden = ("gold",) if scene.colour in ("yellow", "orange") else ()
    return *wooden, *stony, *golden


def _material(make: _RequirementFactory) -> Requirement:
    material = choose_other(make.rng, MATERIALS[1:], *_resembling_materials(make.source))
    words = (
        f"Rebuild the {make.noun} out of {material}",
        f"Let the {make.noun} be made entirely of {material}",
        f"Turn the {make.noun} into a sculpture of {material}",
    )
    other = choose_other(make.rng, MATERIALS[1:], material, *_resembling_materials(make.source))
    return make.transform(
        words, {"material": material}, _yes("material", make.noun, material), _no("material", make.noun, other)
    )


def _put_into(make: _RequirementFactory, container: str, other: str, *words: str) -> Requirement:
    changes = {"container": container, "place": "centre"}
    asked = _yes("container", make.noun, container), _no("container", make.noun, other)
    return make.transform(words, changes, *asked)


def _contained(make: _RequirementFactory) -> Requirement:
    container = make.choose("glass dome", "jar", "snow globe")
    words = (f"Put the {make.noun} inside a {container}", f"Show the {make.noun} as a small world in a {container}")
    return _put_into(make, container, "gift box", *words)


def _commercial(make: _RequirementFactory) -> Requirement:
    first = f"Sell the {make.noun} in a gift box with a bow"
    return _put_into(make, "gift box", "jar", first, f"Design a gift box with a window and a bow for the {make.noun}")


def _narrative(make: _RequirementFactory) -> Requirement:
    words = (
        f"Tell a short story about the {make.noun} as a comic of two panels",
        f"Make a two-panel comic with the {make.noun}",
    )
    return make.transform(words, {"panels": 2}, _yes("panels"))


_OPTIONAL_REQUIREMENTS: dict[str, Callable[[_RequirementFactory], Requirement | None]] = {
    "head": lambda make: make.wear("hat", "crown"),
    "side": lambda make: make.wear("wings", "wheels"),
    "add": _RequirementFactory.add,
    "more": _RequirementFactory.add,
    "write": _RequirementFactory.write,
    "recolour": _RequirementFactory.recolour,
    "move": _RequirementFactory.move,
    "enlarge": _RequirementFactory.enlarge,
    "travel": _RequirementFactory.change_background,
}
_ANYWHERE = ("add", "more", "write", "travel")
# The main requirement of each dimension of CREval, and the optional further ones.
_DIMENSIONS: dict[str, tuple[Callable[[_RequirementFactory], Requirement], tuple[str, ...]]] = dict(
    zip(
        CLASS_DIMENSIONS,
        (
            (_derivative, (*_ANYWHERE, "head", "recolour", "enlarge")),
            (_reimagined, (*_ANYWHERE, "head", "recolour", "move")),
            (_surreal, (*_ANYWHERE, "head", "recolour", "enlarge")),
            (_style, (*_ANYWHERE, "head", "move", "enlarge")),
            (_cultural, (*_ANYWHERE, "head", "move", "enlarge")),
            (_material, (*_ANYWHERE, "head", "side", "move", "enlarge")),
            (_contained, (*_ANYWHERE, "recolour")),
            (_commercial, (*_ANYWHERE, "recolour")),
            (_narrative, (*_ANYWHERE, "head", "side", "recolour")),
        ),
        strict=True,
    )
)


def _requirements(make: _RequirementFactory, dimension: str) -> list[Requirement]:
    """Return the main requirement of a dimension and two to five optional ones."""
    lead, options = _DIMENSIONS[dimension]
    found: list[Requirement] = [lead(make)]
    style = found[0].changes.get("style", "painting")
    hidden = {"write"} if style == "pixel art" else {"travel"} if style in COLOURLESS_STYLES else set()
    options = tuple(name for name in options if name not in hidden)
    chosen = make.rng.sample(options, min(len(options), make.rng.choice((2, 3, 3, 4, 4, 5))))
    for name in sorted(chosen, key=list(_OPTIONAL_REQUIREMENTS).index):
        more = _OPTIONAL_REQUIREMENTS[name](make)
        if more is not None:
            found.append(more)
    return found


def _build_questions(
    source: Scene, requirements: list[Requirement], rng: random.Random
) -> dict[str, tuple[TouchstoneQuestion, ...]]:
    """Return the questions by metric. Questions that the style makes unanswerable are left out."""
    wanted = apply_requirements(source, requirements)
    following = [
        asked
        for requirement in requirements
        for asked in requirement.questions
        if asked.check.answer(source, wanted) == asked.answer
    ]
    known = {asked.check for asked in following}
    kept = [
        asked
        for asked in _consistency_questions(source, rng)
        if asked.check not in known
        and (wanted.has_visible_colours or asked.check.kind != "background")  # lines show too little of it
        and asked.check.answer(source, wanted) == asked.answer
        and asked.check.answer(source, source) == asked.answer
    ]
    absent = [asked for asked in kept if not asked.answer]
    dropped = {asked.check for asked in rng.sample(absent, max(0, len(absent) - 3))}
    kept = [asked for asked in kept if asked.check not in dropped]
    noun = source.kind
    named = ["clear", "outlines", "complete", "once"]
    if wanted.style in UNLINED_STYLES:
        named.remove("outlines")
    drawn = [_yes(name, noun) for name in named]
    drawn += [_no(name) for name in ("noise", "banding")]
    return {"IF": tuple(following), "VC": tuple(kept), "VQ": tuple(drawn)}


def _consistency_questions(source: Scene, rng: random.Random) -> list[TouchstoneQuestion]:
    """Return possible questions about what must stay the same. More important ones have higher weights."""
    noun = source.kind
    found = [
        _yes("subject", noun, weight=3),
        _yes("colour", noun, source.colour, weight=3),
        _yes("place", noun, source.place, weight=2),
        _yes("same size", noun, weight=2),
        _yes("background", source.background, weight=2),
        _yes("same tint"),
        _yes("style", "painting", weight=2),
    ]
    for kind in dict.fromkeys(other.kind for other in source.others):
        colour = next(other.colour for other in source.others if other.kind == kind)
        found.append(_yes("count", kind, NUMBERS[source.count(kind)], weight=2))
        found.append(_yes("all colour", kind, colour))
    for extra in source.extras:
        found.append(_yes("has", noun, extra.kind, weight=2))
        found.append(_yes("extra colour", extra.kind, extra.colour))
        found.append(_yes("pattern", extra.pattern))
    none = [kind for kind in SMALL_KINDS if not source.count(kind)]
    found += [
        _no("any", rng.choice(none)),
        _no("material", noun, choose_other(rng, MATERIALS[1:], *_resembling_materials(source)), weight=2),
        _no("has", noun, choose_other(rng, _WEARABLES, UNSUITABLE_EXTRAS.get(noun, ""))),
        _no("frame", rng.choice(FRAMES)),
        _no("banner"),
        _no("panels"),
    ]
    return found


def _format_instruction(requirements: list[Requirement], noun: str, rng: random.Random) -> str:
    """Join requirements to an instruction of one or two sentences."""
    words = [requirements[0].words]
    for before, required in pairwise(requirements):
        # "it" would refer to the thing that the previous requirement names.
        other = before.changes.keys() & {"others", "text", "extras", "background"}
        words.append(_name_subject(required.words, noun) if other else required.words)
    first, *rest = words
    if len(rest) > 2 and rng.random() < 0.6:
        cut = rng.randint(1, len(rest) - 1)
        start, more = _join_words([first, *rest[:cut]], rng), _join_words(rest[cut:], rng)
        also = rng.choice(("", "also ", "then "))
        return f"{start}. {_capitalise(also + _name_subject(more, noun))}."
    return f"{_join_words(words, rng)}."


def _name_subject(words: str, noun: str) -> str:
    """Replace the first "it" by the name of the subject."""
    if f"the {noun}" in words:
        return words
    return re.sub(r"\bit(s?)\b", lambda its: f"the {noun}" + "'s" * bool(its[1]), words, count=1)


def _capitalise(words: str) -> str:
    return words[0].upper() + words[1:]


def _join_words(words: list[str], rng: random.Random) -> str:
    last = rng.choice((" and ", ", and ", ", then "))
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + last + words[-1]
