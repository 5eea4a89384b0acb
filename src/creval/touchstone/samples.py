"""Samples: a scene, an instruction of several requirements, and what is asked about its edits."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASSES
from creval.touchstone.questions import CORNERS, NUMBERS, PLURALS, SCENERIES, Check, an
from creval.touchstone.scene import (
    BACKGROUNDS,
    COLOURLESS,
    FRAMES,
    PATTERNS,
    PLACES,
    SLOTS,
    UNLINED,
    Extra,
    Scene,
    Small,
)
from creval.touchstone.shapes import KINDS, SMALL, UNFIT
from creval.touchstone.sprites import COLOURS, MATERIALS

TEXTS = (
    "OPEN DAY", "FOR YOU", "NO. 7", "THE END", "MEANWHILE", "BEST PRICE", "LUCKY 13", "HELLO",
    "SEASON 2", "TRY ME", "ONE DAY ...", "GOOD LUCK",
)  # fmt: skip
"""What can stand on a banner."""
_FEWEST = 5  # questions in a metric
_PUT_ON = ("wings", "wheels", "crown", "hat")
_THINGS = frozenset({"extras", "others"})  # what a scene has several of


class Asked(NamedTuple):
    """A question with its right answer and its weight."""

    check: Check
    answer: bool
    weight: int = 1


@dataclass(frozen=True)
class Requirement:
    """One thing that an instruction asks for: its words, what it changes in a scene, and the
    questions that tell whether it was done."""

    words: str
    changes: Mapping[str, Any]
    asked: tuple[Asked, ...] = ()

    def apply(self, scene: Scene) -> Scene:
        """The scene with this done. Things are added to those that are there."""
        changed: dict[str, Any] = {
            name: (*getattr(scene, name), *value) if name in _THINGS else value
            for name, value in self.changes.items()
        }
        return replace(scene, **changed)


@dataclass(frozen=True)
class Touchstone:
    """A sample. `asked` are its questions by metric."""

    id: str
    dimension: str
    source: Scene
    requirements: tuple[Requirement, ...]
    instruction: str
    asked: Mapping[str, tuple[Asked, ...]]

    @property
    def wanted(self) -> Scene:
        """The scene that the instruction asks for."""
        return carried_out(self.source, self.requirements)

    @property
    def steps(self) -> tuple[str, ...]:
        """The requirements as instructions, each of which can stand alone."""
        named = (_named(required.words, self.source.kind) for required in self.requirements)
        return tuple(f"{_begun(words)}." for words in named)

    def step(self, scene: Scene, at: int) -> Touchstone:
        """One of the requirements as a sample of its own, for a picture that shows this scene."""
        required = self.requirements[at]
        wanted = required.apply(scene)
        done = [a for a in self.asked["IF"] if a.check.answer(scene, wanted) == a.answer]
        asked = {**self.asked, "IF": tuple(done)}
        return replace(self, source=scene, requirements=(required,), asked=asked)


def carried_out(scene: Scene, requirements: Iterable[Requirement]) -> Scene:
    for requirement in requirements:
        scene = requirement.apply(scene)
    return scene


def make_samples(count: int, seed: int) -> list[Touchstone]:
    """So many samples, the dimensions in turn; the same for the same seed."""
    return [_sample(number, seed) for number in range(1, count + 1)]


def _sample(number: int, seed: int) -> Touchstone:
    chance = random.Random(f"touchstone {seed} {number}")  # noqa: S311
    dimension = CLASSES[(number - 1) % len(CLASSES)]
    while True:
        source = random_scene(chance, dressed=_DIMENSIONS[dimension][0] is not _cultural)
        make = _Maker(source, chance)
        requirements = _requirements(make, dimension)
        asked = _asked(source, requirements, chance)
        if min(map(len, asked.values())) >= _FEWEST:
            break
    instruction = _joined(requirements, source.kind, chance)
    return Touchstone(f"t{number:04d}", dimension, source, tuple(requirements), instruction, asked)


def random_scene(chance: random.Random, *, dressed: bool = True) -> Scene:
    """A scene as pictures show it before they are edited; the subject may be `dressed`."""
    kind, colour = chance.choice(list(KINDS)), chance.choice(list(COLOURS))
    slots = chance.sample(list(SLOTS), chance.randint(1, 3))
    small = chance.sample(list(SMALL), 2)
    tones = [chance.choice(list(COLOURS)) for _ in small]
    pick = [chance.randrange(2) for _ in slots]
    sash = Extra("sash", another(chance, COLOURS, colour), chance.choice(PATTERNS))
    return Scene(
        kind,
        colour,
        size=chance.choice(("small", "medium", "medium")),
        place=chance.choice(list(PLACES)),
        extras=(sash,) if dressed and chance.random() < 0.3 else (),
        others=tuple(Small(small[n], tones[n], slot) for n, slot in zip(pick, slots, strict=True)),
        background=chance.choice(BACKGROUNDS),
        backdrop=chance.choice(list(COLOURS)),
        seed=chance.randrange(2**31),
    )


def another(chance: random.Random, options: Iterable[str], *than: str) -> str:
    """One of the options, none of those."""
    return chance.choice([option for option in options if option not in than])


class _Maker:
    """Makes requirements for one scene, by chance, none of which undoes another."""

    def __init__(self, source: Scene, chance: random.Random) -> None:
        self.source, self.chance, self.noun = source, chance, source.kind
        self.free = [slot for slot in SLOTS if slot not in {o.slot for o in source.others}]
        self.absent = [kind for kind in SMALL if source.count(kind) == 0]
        chance.shuffle(self.absent)
        # Colours that what the subject has on must not have, and what it has on.
        self.body = {source.colour}
        self.dress = {extra.colour for extra in source.extras}

    def one(self, *options: str) -> str:
        return self.chance.choice(options)

    def lead(self, words: tuple[str, ...], changes: dict[str, Any], *asked: Asked) -> Requirement:
        """What the picture becomes, in one of several wordings."""
        return Requirement(self.one(*words), changes, asked)

    def wear(self, *kinds: str) -> Requirement:
        kind = another(self.chance, kinds, UNFIT.get(self.noun, ""))
        colour = another(self.chance, COLOURS, *self.body)
        self.dress.add(colour)
        pattern = self.chance.choice(PATTERNS[1:]) if kind == "sash" else "plain"
        looks = f"{colour} {pattern} sash"
        words = {
            "wings": (f"give it {colour} wings", f"let {colour} wings grow from its sides"),
            "wheels": (f"put it on {colour} wheels", f"set {colour} wheels under it"),
            "crown": (f"set {an(colour)} crown on top of it", f"crown it with {an(colour)} crown"),
            "hat": (f"put a pointed {colour} hat on it", f"let it wear a tall {colour} hat"),
            "sash": (f"tie {an(looks)} around it", f"dress it with {an(looks)}"),
        }[kind]
        asked = [
            Asked(Check("has", (self.noun, kind)), True),
            Asked(Check("extra colour", (kind, colour)), True),
        ]
        if kind == "sash":
            asked.append(Asked(Check("pattern", (pattern,)), True))
        extra = Extra(kind, colour, pattern)
        return Requirement(self.one(*words), {"extras": (extra,)}, tuple(asked))

    def add(self) -> Requirement | None:
        if not self.free or not self.absent:
            return None
        kind, colour = self.absent.pop(), self.chance.choice(list(COLOURS))
        number = min(len(self.free), self.chance.choice((1, 1, 2, 3, 4)))
        slots = self.chance.sample(self.free, number)
        self.free = [slot for slot in self.free if slot not in slots]
        asked = [
            Asked(Check("count", (kind, NUMBERS[number])), True),
            Asked(Check("all colour", (kind, colour)), True),
        ]
        if number > 1:
            things = f"{NUMBERS[number]} {colour} {PLURALS[kind]}"
            words = self.one("add {}", "place {} around it", "let {} appear around it", "draw {}")
        elif slots[0] in CORNERS:
            things = an(f"{colour} {kind}")
            where = CORNERS[slots[0]]
            words = self.one("add {} ", "put {} ", "place {} ") + where
            asked.append(Asked(Check("corner", (kind, slots[0])), True))
        else:
            things = self.one("a single", "just one", "one") + f" {colour} {kind}"
            words = self.one("add {} at the top", "let {} hang in the air", "draw {}")
        changes = {"others": tuple(Small(kind, colour, slot) for slot in slots)}
        return Requirement(words.format(things), changes, tuple(asked))

    def write(self) -> Requirement:
        text = self.chance.choice(TEXTS)
        words = self.one("write “{}” on a banner below", "add a banner that reads “{}”",
                         "put a sign with the words “{}” at the bottom")  # fmt: skip
        asked = (Asked(Check("banner"), True), Asked(Check("reads", (text,)), True))
        return Requirement(words.format(text), {"text": text}, asked)

    def recolour(self) -> Requirement:
        colour = another(self.chance, COLOURS, self.source.colour, *self.dress)
        self.body.add(colour)
        words = self.one(f"paint it {colour}", f"change its colour to {colour}")
        asked = (
            Asked(Check("colour", (self.noun, colour)), True),
            Asked(Check("colour", (self.noun, self.source.colour)), False),
        )
        return Requirement(words, {"colour": colour}, asked)

    def move(self) -> Requirement:
        place = another(self.chance, PLACES, self.source.place)
        side = {"centre": "into the centre"}.get(place, f"to the {place}")
        words = self.one(f"move it {side}", f"shift it {side}")
        asked = (
            Asked(Check("place", (self.noun, place)), True),
            Asked(Check("place", (self.noun, self.source.place)), False),
        )
        return Requirement(words, {"place": place}, asked)

    def enlarge(self) -> Requirement:
        words = self.one("make it much larger", "let it fill more of the picture")
        asked = (
            Asked(Check("larger", (self.noun,)), True),
            Asked(Check("same size", (self.noun,)), False),
        )
        return Requirement(words, {"size": "large"}, asked)

    def travel(self) -> Requirement:
        background = another(self.chance, BACKGROUNDS, self.source.background)
        scenery = SCENERIES[background]
        words = self.one(f"change the background to {scenery}", f"set it before {scenery}")
        asked = (
            Asked(Check("background", (background,)), True),
            Asked(Check("background", (self.source.background,)), False),
        )
        return Requirement(words, {"background": background}, asked)


def _derivative(make: _Maker) -> Requirement:
    noun = make.noun
    words = (
        f"Turn the {noun} into a sticker with a white border",
        f"Make a die-cut sticker of the {noun}, with a white edge",
        f"Let the {noun} become a collectible sticker with a white rim",
    )
    return make.lead(words, {"sticker": True}, Asked(Check("sticker", (noun,)), True))


def _reimagined(make: _Maker) -> Requirement:
    frame = make.one(*FRAMES)
    what = {
        "stamp": "a postage stamp with a perforated edge",
        "playing card": "a playing card with a white border",
        "film strip": "a frame of a film strip",
    }[frame]
    other = another(make.chance, FRAMES, frame)
    words = tuple(f"{verb} the {make.noun} as {what}" for verb in ("Reimagine", "Present", "Show"))
    return make.lead(
        words,
        {"frame": frame},
        Asked(Check("frame", (frame,)), True),
        Asked(Check("frame", (other,)), False),
    )


def _surreal(make: _Maker) -> Requirement:
    part = make.wear("wings", "wheels")
    starts = (f"Let the {make.noun} become a dream creature", f"Turn the {make.noun} into a hybrid")
    return replace(part, words=f"{make.one(*starts)}: {part.words}")


def _style(make: _Maker) -> Requirement:
    style = make.one("pencil sketch", "pixel art", "flat poster", "blueprint")
    what = {"pixel art": style, "flat poster": "a poster of few flat colours"}.get(style, an(style))
    words = (
        f"Redraw the whole picture with the {make.noun} as {what}",
        f"Turn the scene with the {make.noun} into {what}",
    )
    return make.lead(
        words,
        {"style": style},
        Asked(Check("style", (style,)), True),
        Asked(Check("style", ("painting",)), False),
    )


def _cultural(make: _Maker) -> Requirement:
    sash = make.wear("sash")
    starts = (f"Dress the {make.noun} for a village feast", f"Give the {make.noun} a costume")
    return replace(sash, words=f"{make.one(*starts)}: {sash.words}")


def _like(scene: Scene) -> tuple[str, ...]:
    """What one could think a scene's subject is made of anyway."""
    wooden = ("wood",) if scene.kind in ("boat", "guitar", "house", "tree") else ()
    stony = ("stone",) if scene.kind == "house" else ()
    golden = ("gold",) if scene.colour in ("yellow", "orange") else ()
    return *wooden, *stony, *golden


def _material(make: _Maker) -> Requirement:
    material = another(make.chance, MATERIALS[1:], *_like(make.source))
    words = (
        f"Rebuild the {make.noun} out of {material}",
        f"Let the {make.noun} be made entirely of {material}",
        f"Turn the {make.noun} into a sculpture of {material}",
    )
    other = another(make.chance, MATERIALS[1:], material, *_like(make.source))
    return make.lead(
        words,
        {"material": material},
        Asked(Check("material", (make.noun, material)), True),
        Asked(Check("material", (make.noun, other)), False),
    )


def _contained(make: _Maker) -> Requirement:
    container = make.one("glass dome", "jar", "snow globe")
    words = (
        f"Put the {make.noun} inside a {container}",
        f"Show the {make.noun} as a small world in a {container}",
    )
    return make.lead(
        words,
        {"container": container, "place": "centre"},
        Asked(Check("container", (make.noun, container)), True),
        Asked(Check("container", (make.noun, "gift box")), False),
    )


def _commercial(make: _Maker) -> Requirement:
    words = (
        f"Sell the {make.noun} in a gift box with a bow",
        f"Design a gift box with a window and a bow for the {make.noun}",
    )
    return make.lead(
        words,
        {"container": "gift box", "place": "centre"},
        Asked(Check("container", (make.noun, "gift box")), True),
        Asked(Check("container", (make.noun, "jar")), False),
    )


def _narrative(make: _Maker) -> Requirement:
    words = (
        f"Tell a short story about the {make.noun} as a comic of two panels",
        f"Make a two-panel comic with the {make.noun}",
    )
    return make.lead(words, {"panels": 2}, Asked(Check("panels"), True))


_OPTIONS: dict[str, Callable[[_Maker], Requirement | None]] = {
    "head": lambda make: make.wear("hat", "crown"),
    "side": lambda make: make.wear("wings", "wheels"),
    "add": _Maker.add,
    "more": _Maker.add,
    "write": _Maker.write,
    "recolour": _Maker.recolour,
    "move": _Maker.move,
    "enlarge": _Maker.enlarge,
    "travel": _Maker.travel,
}
_ANYWHERE = ("add", "more", "write", "travel")
# For each of CREval's classes, what the picture becomes, and what else may be asked for.
_DIMENSIONS: dict[str, tuple[Callable[[_Maker], Requirement], tuple[str, ...]]] = dict(
    zip(
        CLASSES,
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


def _requirements(make: _Maker, dimension: str) -> list[Requirement]:
    """What an instruction asks for: what the picture becomes, then two to five things more."""
    lead, options = _DIMENSIONS[dimension]
    found: list[Requirement] = [lead(make)]
    style = found[0].changes.get("style", "painting")
    hidden = {"write"} if style == "pixel art" else {"travel"} if style in COLOURLESS else set()
    options = tuple(name for name in options if name not in hidden)
    chosen = make.chance.sample(options, min(len(options), make.chance.choice((2, 3, 3, 4, 4, 5))))
    for name in sorted(chosen, key=list(_OPTIONS).index):
        more = _OPTIONS[name](make)
        if more is not None:
            found.append(more)
    return found


def _asked(
    source: Scene, requirements: list[Requirement], chance: random.Random
) -> dict[str, tuple[Asked, ...]]:
    """The questions by metric. In some styles not all can be seen that was asked for."""
    wanted = carried_out(source, requirements)
    following = [
        asked
        for requirement in requirements
        for asked in requirement.asked
        if asked.check.answer(source, wanted) == asked.answer
    ]
    known = {asked.check for asked in following}
    kept = [
        asked
        for asked in _kept(source, chance)
        if asked.check not in known
        and (wanted.coloured or asked.check.kind != "background")  # lines tell little of it
        and asked.check.answer(source, wanted) == asked.answer
        and asked.check.answer(source, source) == asked.answer
    ]
    absent = [asked for asked in kept if not asked.answer]
    dropped = {asked.check for asked in chance.sample(absent, max(0, len(absent) - 3))}
    kept = [asked for asked in kept if asked.check not in dropped]
    noun = source.kind
    named = ["clear", "outlines", "complete", "once"]
    if wanted.style in UNLINED:
        named.remove("outlines")
    drawn = [Asked(Check(name, (noun,)), True) for name in named]
    drawn += [Asked(Check(name), False) for name in ("noise", "banding")]
    return {"IF": tuple(following), "VC": tuple(kept), "VQ": tuple(drawn)}


def _kept(source: Scene, chance: random.Random) -> list[Asked]:
    """What can be asked about things that should stay as they are, by how much rests on them."""
    noun = source.kind
    found = [
        Asked(Check("subject", (noun,)), True, 3),
        Asked(Check("colour", (noun, source.colour)), True, 3),
        Asked(Check("place", (noun, source.place)), True, 2),
        Asked(Check("same size", (noun,)), True, 2),
        Asked(Check("background", (source.background,)), True, 2),
        Asked(Check("same tint"), True, 1),
        Asked(Check("style", ("painting",)), True, 2),
    ]
    for kind in dict.fromkeys(other.kind for other in source.others):
        colour = next(other.colour for other in source.others if other.kind == kind)
        found.append(Asked(Check("count", (kind, NUMBERS[source.count(kind)])), True, 2))
        found.append(Asked(Check("all colour", (kind, colour)), True, 1))
    for extra in source.extras:
        found.append(Asked(Check("has", (noun, extra.kind)), True, 2))
        found.append(Asked(Check("extra colour", (extra.kind, extra.colour)), True, 1))
        found.append(Asked(Check("pattern", (extra.pattern,)), True, 1))
    none = [kind for kind in SMALL if not source.count(kind)]
    found += [
        Asked(Check("any", (chance.choice(none),)), False, 1),
        Asked(Check("material", (noun, another(chance, MATERIALS[1:], *_like(source)))), False, 2),
        Asked(Check("has", (noun, another(chance, _PUT_ON, UNFIT.get(noun, "")))), False, 1),
        Asked(Check("frame", (chance.choice(FRAMES),)), False, 1),
        Asked(Check("banner"), False, 1),
        Asked(Check("panels"), False, 1),
    ]
    return found


def _joined(requirements: list[Requirement], noun: str, chance: random.Random) -> str:
    """Requirements as an instruction: in one sentence, or in two."""
    words = [requirements[0].words]
    for before, required in pairwise(requirements):
        # After another thing was named, "it" would be that.
        other = before.changes.keys() & {"others", "text", "extras", "background"}
        words.append(_named(required.words, noun) if other else required.words)
    first, *rest = words
    if len(rest) > 2 and chance.random() < 0.6:
        cut = chance.randint(1, len(rest) - 1)
        start, more = _listed([first, *rest[:cut]], chance), _listed(rest[cut:], chance)
        also = chance.choice(("", "also ", "then "))
        return f"{start}. {_begun(also + _named(more, noun))}."
    return f"{_listed(words, chance)}."


def _named(words: str, noun: str) -> str:
    """Words that say what they are about, rather than "it"."""
    if f"the {noun}" in words:
        return words
    return re.sub(r"\bit(s?)\b", lambda its: f"the {noun}" + "'s" * bool(its[1]), words, count=1)


def _begun(words: str) -> str:
    return words[0].upper() + words[1:]


def _listed(words: list[str], chance: random.Random) -> str:
    last = chance.choice((" and ", ", and ", ", then "))
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + last + words[-1]
