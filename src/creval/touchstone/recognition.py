"""Seeing what a picture shows, from its pixels alone: draw what it could be, and compare.

Nothing is known of the scene; all that can be drawn is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from creval.touchstone.normalisation import (
    BLOCK,
    HALF,
    Mask,
    Pixels,
    View,
    background_of,
    drawn_lines,
    lines_of,
    mean_of,
    means,
    most_of,
    toned,
    view,
)
from creval.touchstone.render import (
    DOUBLE,
    FIRST,
    MARGIN,
    SMALL_SIZE,
    STANDS,
    banner,
    container,
    frame,
    sash,
    staged,
    subject,
)
from creval.touchstone.samples import TEXTS
from creval.touchstone.scene import (
    CONTAINERS,
    FRAMES,
    PATTERNS,
    PLACES,
    SIDE,
    SIZES,
    SLOTS,
    Extra,
    Scene,
    Small,
)
from creval.touchstone.shapes import KINDS, SMALL, WAISTS
from creval.touchstone.sprites import COLOURS, MATERIALS, sprite

Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns."""
UNREAD = "?"
"""What stands on a banner whose words are not known."""
_LOOKS = [
    *((colour, material) for material in ("plain", "wool") for colour in COLOURS),
    *(("yellow", material) for material in MATERIALS if material not in ("plain", "wool")),
]
_PLAIN = len(COLOURS)  # of them are colours alone, and in flat styles all that can be told
_STRAY = 0.14  # so much of a subject may be other than it should, at the edges of its lines
_SEEN = 12  # a difference that counts
_GROUND = (215, 215, 215)
_GAPS = 0.12  # so much of the lines is missing where outlines are broken
_DARK = 110  # nor a pixel of something dark, or at its edge
_INKY = 85  # a pixel of ink has no channel that is brighter
_FITS = 0.26  # how well the subject's lines fit at least, in a picture that touchstone drew
_STRANGE = 0.5  # how much of a part of it may be other than expected, at most
_PART = 24  # pixels of such a part, at half size
_CAP = 60.0  # a pixel is not more wrong than that
_SIDES = (2, 0)  # seeds with which a cut takes the left and the right side


class Seen(NamedTuple):
    """A scene as it was seen; `fit` is how well the subject's lines fit, from 0 to 1, and `strange`
    how much of that part of the picture which is least as it should be is not.

    Both together say whether the picture is of touchstone's drawing at all.
    """

    scene: Scene
    fit: float
    strange: float

    @property
    def known(self) -> bool:
        """Whether everything in the picture is accounted for."""
        return self.fit >= _FITS and self.strange <= _STRANGE


def see(picture: Image.Image) -> Seen:
    """What a picture shows."""
    seen = view(picture)
    background, backdrop = background_of(seen)
    panels = 2 if _has_gutter(seen) else 1
    kind, size, place, fit = _subject(seen, panels)
    flaws = [*(["noise"] if seen.noisy else ()), *(["banding"] if seen.banded else ())]
    scene = Scene(
        kind,
        "blue",
        size=size,
        place=place,
        others=_others(seen),
        background=background,
        backdrop=backdrop,
        style=seen.style,
        container=_there(CONTAINERS, _enclosed, seen),
        frame=_there(FRAMES, _framed, seen),
        panels=panels,
        text=_text(seen),
        flaws=tuple(flaws),
    )
    body = _Body(seen, scene)
    found = body.look()
    return Seen(found, fit, body.strange())


# What always looks the same: frames, the gutter of a comic, containers, the banner.


def _agreement(colours: Pixels, places: Places, seen: View) -> float:
    """The share of some places in which colours are as they should be."""
    apart = mean_of(np.abs(seen.colours[places] - toned(colours, seen.style)[places]))
    return float((apart < (26 if seen.noisy else 18)).mean())


def _some(mask: Mask) -> Places:
    """Some thousand places where a mask is, evenly chosen."""
    rows, columns = np.nonzero(mask)
    step = max(1, len(rows) // 3000)
    return rows[::step], columns[::step]


def _match(drawn: Pixels, lines: Pixels) -> float:
    """How alike the lines in two windows are, from -1 to 1."""
    one, other = drawn.ravel(), lines.ravel()
    one, other = one - one.mean(), other - other.mean()
    length = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / length if length > 1 else 0.0


@lru_cache(maxsize=3)
def _framed_whole(kind: str) -> tuple[Pixels, Mask]:
    """A frame, and where it covers what it frames, at half size."""
    drawn = []
    for shade in (90, 170):
        picture = Image.new("RGB", (SIDE, SIDE), (shade, shade, shade))
        frame(picture, kind)
        drawn.append(picture.reduce(2))
    covered = most_of(np.asarray(ImageChops.difference(*drawn))) < 2
    return np.asarray(drawn[0]).astype(np.float32), covered


@lru_cache(maxsize=3)
def _framed(kind: str) -> tuple[Pixels, Places]:
    """A frame, and some places well inside of it."""
    drawn, covered = _framed_whole(kind)
    inner = covered & np.roll(covered, 3, 0) & np.roll(covered, -3, 0)
    inner &= np.roll(covered, 3, 1) & np.roll(covered, -3, 1)
    return drawn, _some(inner)


def _there(kinds: Iterable[str], drawn: Callable[[str], tuple[Pixels, Places]], seen: View) -> str:
    """That of several things, each always in its place, which is there; pictures of lines have
    none of them."""
    found = {kind: _agreement(*drawn(kind), seen) for kind in kinds if seen.coloured}
    best = max(found, key=lambda kind: found[kind], default="")
    return best if found.get(best, 0.0) > 0.6 else ""


def _has_gutter(seen: View) -> bool:
    """Whether a white stripe between two lines divides the picture."""
    stripe = seen.lines[30:320]
    edges = stripe[:, [185, 186, 197, 198]].reshape(-1, 2, 2).max(axis=-1).mean(axis=-1)
    inside = stripe[:, 189:195].mean(axis=-1)
    return bool((edges > inside + 25).mean() > 0.8)


@lru_cache(maxsize=4)
def _enclosed(kind: str) -> tuple[Pixels, Places]:
    """A container, and where nothing shines through it."""
    layer = np.asarray(container(kind, behind=False, shrunk=2)).astype(np.float32)
    return layer[..., :3], _some(layer[..., 3] > 250)


_BANNER = np.s_[332:364, 88:296]


@lru_cache(maxsize=64)
def _lettered(words: str, style: str) -> Pixels:
    """The lines of a banner."""
    picture = Image.new("RGB", (SIDE, SIDE), (190, 190, 190))
    banner(picture, words)
    window = picture.crop((176, 656, 592, 736))
    return drawn_lines(window.reduce, style)[4:36]


def _text(seen: View) -> str:
    window = seen.lines[_BANNER]
    found = {words: _match(_lettered(words, seen.style), window) for words in TEXTS}
    best = max(found, key=lambda words: found[words])
    if found[best] < 0.5:
        return ""
    return best if found[best] > 0.75 or seen.noisy else UNREAD


# Small things.


@lru_cache(maxsize=24)
def _smalls(style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """All small things in all colours, in a window that begins so far before them."""
    drawn, masks = [], []
    for kind, colour in product(SMALL, COLOURS):
        thing, alpha = _windowed(
            sprite(kind, colour, SMALL_SIZE // 2, shrunk=2), across, down, style
        )
        drawn.append(thing)
        masks.append(alpha > 0.9)
    return np.stack(drawn), np.stack(masks)


def _windowed(image: Image.Image, across: int, down: int, style: str) -> tuple[Pixels, Pixels]:
    """A thing's colours in a style and how opaque they are, in a window of whole blocks."""
    wide, high = (
        -(-(n + d) // BLOCK) * BLOCK for n, d in zip(image.size, (across, down), strict=True)
    )
    canvas = Image.new("RGBA", (wide, high), (200, 200, 200, 0))
    canvas.paste(image, (across, down))
    pixels = np.asarray(canvas).astype(np.float32)
    alpha = pixels[..., 3] / np.float32(255)
    if style != "pixel art":
        return toned(pixels[..., :3], style), alpha
    own = alpha[..., None]
    blended = pixels[..., :3] * own + 200 * (1 - own)
    share = means(alpha, BLOCK).repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
    return toned(blended, style), share


@lru_cache(maxsize=12)
def _outlined(style: str, kind: str) -> Pixels:
    """The lines of a small thing."""

    def make(shrunk: int) -> Image.Image:
        thing = sprite(kind, "blue", SMALL_SIZE // shrunk, shrunk=shrunk)
        ground = Image.new("RGBA", thing.size, (*_GROUND, 255))
        ground.alpha_composite(thing)
        return ground.convert("RGB")

    return drawn_lines(make, style)


def _others(seen: View) -> tuple[Small, ...]:
    found = []
    names = list(product(SMALL, COLOURS))
    for slot, (x, y) in SLOTS.items():
        left, top = ((at - SMALL_SIZE // 2) // 2 for at in (x, y))
        if not seen.coloured:
            window = seen.lines[top : top + SMALL_SIZE // 2, left : left + SMALL_SIZE // 2]
            kinds = {kind: _match(_outlined(seen.style, kind), window) for kind in SMALL}
            kind = max(kinds, key=lambda kind: kinds[kind])
            if kinds[kind] > 0.5:
                found.append(Small(kind, "blue", slot))
            continue
        across, down = left % BLOCK, top % BLOCK
        drawn, masks = _smalls(seen.style, across, down)
        high, wide = masks.shape[1:]
        window = seen.colours[top - down :, left - across :][:high, :wide]
        apart = np.minimum(mean_of(np.abs(drawn - window)), np.float32(_CAP))
        error = (apart * masks).sum(axis=(1, 2)) / masks.sum(axis=(1, 2))
        best = int(error.argmin())
        if error[best] < (24 if seen.noisy else 17):
            found.append(Small(*names[best], slot))
    return tuple(found)


# The subject.


def _origin(size: str, x: int) -> tuple[int, int]:
    """The upper left corner of a subject's square, at half size."""
    return (x - SIZES[size] // 2) // 2, (STANDS - SIZES[size]) // 2


@lru_cache(maxsize=100)
def _templates(size: str, across: int, down: int, style: str) -> tuple[Pixels, Pixels]:
    """The lines of subjects of all kinds at a quarter of the size, of one length and about zero,
    and where each is, in a window that begins so far before them."""
    side = -(-(SIZES[size] // 2 + BLOCK) // BLOCK) * BLOCK
    lines, places = [], []
    for kind in KINDS:

        def make(shrunk: int, kind: str = kind) -> Image.Image:
            larger = 2 // shrunk
            ground = Image.new("RGBA", (side * larger, side * larger), (*_GROUND, 255))
            body = sprite(kind, "blue", SIZES[size] // shrunk, shrunk=shrunk)
            ground.alpha_composite(body, (across * larger, down * larger))
            return ground.convert("RGB")

        alpha = Image.new("L", (side, side))
        body = sprite(kind, "blue", SIZES[size] // 2, shrunk=2)
        alpha.paste(body.getchannel("A"), (across, down))
        inside = np.asarray(alpha.reduce(2)).ravel() > 100
        drawn = means(drawn_lines(make, style), 2).ravel()
        drawn = np.where(inside, drawn - drawn[inside].mean(), np.float32(0))
        lines.append(drawn / np.linalg.norm(drawn))
        places.append(inside.astype(np.float32))
    return np.stack(lines), np.stack(places)


def _subject(seen: View, panels: int) -> tuple[str, str, str, float]:
    """What it is, how large and where, and how well that fits."""
    lines = means(seen.lines, 2)
    step = BLOCK if seen.style == "pixel art" else 2
    options = [(size, place, x) for size in SIZES for place, x in PLACES.items()]
    if panels == 2:
        options = [("small", "centre", FIRST)]
    best, most = ("", "", ""), -1.0
    for size, place, x in options:
        left, top = _origin(size, x)
        drawn, inside = _templates(size, left % step, top % step, seen.style)
        left, top = left // step * step // 2, top // step * step // 2
        side = math.isqrt(drawn.shape[1])
        window = lines[top : top + side, left : left + side].ravel()
        varied = inside @ np.square(window) - np.square(inside @ window) / inside.sum(axis=1)
        matches = drawn @ window / np.sqrt(np.maximum(varied, 1))
        at = int(matches.argmax())
        if matches[at] > most:
            best, most = (list(KINDS)[at], size, place), float(matches[at])
    return *best, most


@lru_cache(maxsize=42)
def _bodies(kind: str, size: int, style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """A subject in all colours and materials, every other pixel of it, and where it is opaque."""
    drawn = []
    for colour, material in _LOOKS if style == "painting" else _LOOKS[:_PLAIN]:
        thing, alpha = _windowed(
            sprite(kind, colour, size, material, shrunk=2), across, down, style
        )
        drawn.append(thing[::2, ::2])
    return np.stack(drawn), alpha[::2, ::2] > 0.95


@lru_cache(maxsize=300)
def _worn(
    extra: str, kind: str, size: int, style: str, across: int, down: int
) -> tuple[Pixels, Mask, int, int]:
    """What a subject can have on, in all colours, where that is, and how far it begins before the
    subject's square, which itself begins so far behind a block."""
    margin = -(-round(MARGIN * size) // BLOCK) * BLOCK
    drawn = []
    for colour in COLOURS:
        image = sprite(extra, colour, size, margin=margin, on=kind, shrunk=2)
        thing, alpha = _windowed(image, across, down, style)
        mask = alpha > 0.9
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        drawn.append(thing[box])
    return np.stack(drawn), mask[box], margin - int(columns[0]), margin - int(rows[0])


@lru_cache(maxsize=100)
def _sashes(kind: str, size: int, style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """Sashes in all patterns and colours, every other pixel of them, and where they are."""
    body = sprite(kind, "blue", size, shrunk=2)
    drawn = []
    for pattern, colour in product(PATTERNS, COLOURS):
        band = sash(Extra("sash", colour, pattern), body, kind, size, 2)
        thing, alpha = _windowed(band, across, down, style)
        drawn.append(thing[::2, ::2])
    return np.stack(drawn), alpha[::2, ::2] > 0.9


def _blocks_around(start: int, stop: int) -> slice:
    """Whole blocks, inside the picture."""
    return slice(max(0, start // BLOCK * BLOCK), min(HALF, -(-stop // BLOCK) * BLOCK))


class _Body:
    """Looks closely at the subject, where and what it is being known."""

    def __init__(self, seen: View, scene: Scene) -> None:
        self.seen, self.scene = seen, scene
        self.x = FIRST if scene.panels == 2 else PLACES[scene.place]
        self.size = SIZES[scene.size] // 2
        self.left, self.top = _origin(scene.size, self.x)
        self.limit = 28 if seen.noisy else 20
        # How far behind a block of pixels its square begins; that counts in pixel art alone.
        step = BLOCK if seen.style == "pixel art" else 1
        self.across, self.down = self.left % step, self.top % step
        self.front = None
        if scene.container:
            layer = container(scene.container, behind=False, shrunk=2)
            self.front = np.asarray(layer).astype(np.float32)
        # Where the subject can be seen as it is, as far as that is known.
        self.plain = np.ones((HALF, HALF), dtype=bool)
        self._kept: dict[tuple[Scene, int], Pixels] = {}
        self.clear = self._open()
        reach = round(0.4 * self.size)
        self.window = (
            _blocks_around(self.top - reach, self.top + self.size + reach),
            _blocks_around(self.left - reach, self.left + self.size + reach),
        )

    def look(self) -> Scene:
        """The scene with all that there is to say about its subject."""
        dressed = self._dressed()
        found: tuple[str, ...] = ()
        seed = 0
        if not self._fits(dressed):
            dressed = self._bordered(dressed)
            found, seed = self._flaws(dressed)
        if found:  # what is cut off or lies under a double told nothing
            self.plain = self._unspoilt(dressed, found, seed)
            dressed = self._bordered(self._dressed())
            found, seed = self._flaws(dressed)
        if self._gaps(replace(dressed, flaws=found), seed) > _GAPS:
            found = ("broken outlines", *found)
        self.found = replace(dressed, flaws=found), seed
        return replace(dressed, flaws=(*self.scene.flaws, *found))

    def strange(self) -> float:
        """In the part of the picture that is least as it should be, how much is not."""
        if not self.seen.coloured:  # of lines too many depend on others
            return 0.0
        scene, seed = self.found
        broken = "broken outlines" in scene.flaws
        scene = replace(scene, flaws=tuple(f for f in scene.flaws if f != "broken outlines"))
        drawn = staged(scene, np.random.default_rng(seed), 2, self.x)
        for other in scene.others:
            thing = sprite(other.kind, other.colour, SMALL_SIZE // 2, shrunk=2)
            x, y = ((at - SMALL_SIZE // 2) // 2 for at in SLOTS[other.slot])
            drawn.paste(thing, (x, y), thing)
        pixels = np.array(drawn, dtype=np.float32)
        if scene.frame:
            frame_, covered = _framed_whole(scene.frame)
            pixels[covered] = frame_[covered]
        some = np.s_[::2, ::2]  # pixels that will do
        looks = (
            toned(pixels, self.seen.style)[some]
            if self.seen.style == "pixel art"
            else toned(pixels[some], self.seen.style)
        )
        wrong = mean_of(np.abs(looks - self.seen.colours[some])) > self.limit + 6
        if broken:  # where lines are missing anything may be
            wrong[most_of(pixels[some]) < _DARK] = False
        if scene.text:
            wrong[164:183, 42:150] = False
        if scene.panels == 2:
            wrong[:, 91:] = wrong[:3] = wrong[-3:] = wrong[:, :3] = False
        return float(means(wrong.astype(np.float32), _PART // 2).max())

    def _dressed(self) -> Scene:
        """The scene with the subject's colour, material and all that it has on."""
        if not self.seen.coloured:
            return self._dressed_in_lines()
        colour, material = self._look()
        bare = replace(self.scene, colour=colour, material=material)
        return replace(bare, extras=(*self._worn(bare), *self._sash(colour, material)))

    def _bordered(self, scene: Scene) -> Scene:
        """The scene, with the border of a sticker if it has one."""
        if not self.seen.coloured:  # no picture of lines has one
            return scene
        bordered = replace(scene, sticker=True)
        return [scene, bordered][self._best([scene, bordered])]

    def _fits(self, scene: Scene) -> bool:
        """Whether the picture is as the scene would be drawn, on the subject and around it."""
        if not self.seen.coloured:
            return False
        wrong = mean_of(np.abs(self._colours(scene) - self.seen.colours[self.window])) > self.limit
        stray = np.count_nonzero(wrong & self.clear[self.window])
        return bool(stray < _STRAY * np.count_nonzero(self._covers(scene, 0)))

    def _errors(
        self,
        drawn: Pixels,
        mask: Mask,
        left: int,
        top: int,
        *,
        step: int = 1,
        hidden: Mask | None = None,
    ) -> Pixels:
        """How wrong each of several drawn windows is, pixel by pixel, where the mask is."""
        high, wide = mask.shape
        rows, columns = np.arange(high) * step + top, np.arange(wide) * step + left
        inside = ((rows >= 0) & (rows < HALF))[:, None] & ((columns >= 0) & (columns < HALF))
        place = np.ix_(np.clip(rows, 0, HALF - 1), np.clip(columns, 0, HALF - 1))
        here = mask & inside & self.plain[place]
        if hidden is not None:
            here &= ~hidden[place]
        if not here.any():
            return np.full((len(drawn), 1), _CAP, dtype=np.float32)
        drawn = drawn[:, here]
        if self.front is not None:
            front = self.front[place][here]
            share = front[..., 3:] / np.float32(255)
            drawn = drawn * (1 - share) + front[..., :3] * share
        apart = mean_of(np.abs(drawn - self.seen.colours[place][here]))
        return np.minimum(apart, np.float32(_CAP))

    def _look(self) -> tuple[str, str]:
        """Its colour and material, from what no sash covers."""
        across, down = self.across, self.down
        drawn, mask = _bodies(self.scene.kind, self.size, self.seen.style, across, down)
        mask = mask.copy()
        top, bottom = (round(y * self.size) + down for y in WAISTS[self.scene.kind])
        mask[top // 2 - 2 : bottom // 2 + 3] = False
        errors = self._errors(drawn, mask, self.left - across, self.top - down, step=2)
        return _LOOKS[int(errors.mean(axis=1).argmin())]

    def _worn(self, bare: Scene) -> list[Extra]:
        """What it has on, but for a sash."""
        found: dict[str, tuple[float, Extra]] = {}
        across, down = self.across, self.down
        body = self._covers(bare, 0)
        other = np.zeros((HALF, HALF), dtype=bool)
        apart = np.abs(self._colours(bare) - self.seen.colours[self.window])
        other[self.window] = mean_of(apart) > self.limit
        for kind in ("wings", "wheels", "hat", "crown"):
            if not self._is_changed(kind, other, body):
                continue
            drawn, mask, before, above = _worn(
                kind, self.scene.kind, self.size, self.seen.style, across, down
            )
            left, top = self.left - across - before, self.top - down - above
            masks = [mask]
            if kind in ("wings", "wheels"):  # they are behind it, and one of two may be cut off
                middle = self.left + self.size // 2 - left
                masks = [mask.copy(), mask.copy()]
                masks[0][:, middle:] = masks[1][:, :middle] = False
            place = "head" if kind in ("hat", "crown") else kind
            for part in masks:
                hidden = body if len(masks) > 1 else None
                errors = self._errors(drawn, part, left, top, hidden=hidden)
                shares = (errors < self.limit).mean(axis=1)
                best = int(shares.argmax())
                if shares[best] > max(0.5, found.get(place, (0.0,))[0]):
                    found[place] = float(shares[best]), Extra(kind, list(COLOURS)[best])
        return [extra for _, extra in found.values()]

    def _is_changed(self, kind: str, other: Mask, body: Mask) -> bool:
        """Whether anything is where the subject would have something on."""
        extra = sprite(kind, "blue", self.size, margin=self.size // 2, on=self.scene.kind, shrunk=2)
        whole = Image.new("L", (HALF, HALF))
        at = self.left - self.size // 2, self.top - self.size // 2
        whole.paste(extra.getchannel("A"), at)
        mask = np.asarray(whole) > 230
        if kind in ("wings", "wheels"):
            mask = mask & ~body
        return bool(other[mask].mean() > 0.25) if mask.any() else False

    def _sash(self, colour: str, material: str) -> list[Extra]:
        across, down = self.across, self.down
        at = self.left - across, self.top - down
        drawn, mask = _sashes(self.scene.kind, self.size, self.seen.style, across, down)
        errors = self._errors(drawn, mask, *at, step=2)
        best = int(errors.mean(axis=1).argmin())
        bodies, _ = _bodies(self.scene.kind, self.size, self.seen.style, across, down)
        without = bodies[_LOOKS.index((colour, material))][None]
        bare = self._errors(without, mask, *at, step=2)
        if errors[best].mean() > 0.75 * bare.mean() or (errors[best] < self.limit).mean() < 0.4:
            return []
        pattern, tone = list(product(PATTERNS, COLOURS))[best]
        return [Extra("sash", tone, pattern)]

    def _dressed_in_lines(self) -> Scene:
        """What the subject has on, where colours cannot be seen."""
        scene = self.scene
        for kinds in (("wings",), ("wheels",), ("sash",), ("hat", "crown")):
            options = [replace(scene, extras=(*scene.extras, Extra(kind, "red"))) for kind in kinds]
            scene = [scene, *options][self._best([scene, *options])]
        return scene

    def _drawn(self, scene: Scene, seed: int, shrunk: int = 2) -> Image.Image:
        """A window of a scene, without what lies over the subject, in no style yet."""
        picture = staged(scene, np.random.default_rng(seed), shrunk, self.x)
        rows, columns = self.window
        edges = (columns.start, rows.start, columns.stop, rows.stop)
        left, top, right, bottom = (edge * 2 // shrunk for edge in edges)
        return picture.crop((left, top, right, bottom))

    def _colours(self, scene: Scene, seed: int = 0) -> Pixels:
        if (scene, seed) not in self._kept:
            drawn = np.asarray(self._drawn(scene, seed)).astype(np.float32)
            self._kept[scene, seed] = toned(drawn, self.seen.style)
        return self._kept[scene, seed]

    def _lines(self, scene: Scene, seed: int) -> Pixels:
        if self.seen.coloured:
            return lines_of(self._colours(scene, seed), self.seen.style)
        return drawn_lines(lambda shrunk: self._drawn(scene, seed, shrunk), self.seen.style)

    def _best(self, scenes: Sequence[Scene], seeds: Sequence[int] = ()) -> int:
        """Which of several scenes fits best where they differ, in colours or in lines."""
        pairs = zip(scenes, seeds or [0] * len(scenes), strict=True)
        if self.seen.coloured:
            seen = self.seen.colours[self.window]
            looks = [self._colours(*one) for one in pairs]
            changes = [most_of(np.abs(look - looks[0])) > _SEEN for look in looks[1:]]
            apart = [mean_of(np.abs(look - seen)) for look in looks]
        else:
            lines = [self._lines(*one) for one in pairs]
            changes = [np.abs(look - lines[0]) > _SEEN for look in lines[1:]]
            apart = [np.abs(look - self.seen.lines[self.window]) for look in lines]
        differ = np.logical_or.reduce(changes) & self.clear[self.window]
        if not differ.any():
            return 0
        return int(np.argmin([np.minimum(errors[differ], _CAP).mean() for errors in apart]))

    def _open(self) -> Mask:
        """Where nothing lies over the subject."""
        clear = np.ones((HALF, HALF), dtype=bool)
        edge = 24 if self.scene.frame else 5
        clear[:edge] = clear[-edge:] = clear[:, :edge] = clear[:, -edge:] = False
        for other in self.scene.others:
            x, y = (at // 2 for at in SLOTS[other.slot])
            clear[y - 26 : y + 26, max(0, x - 26) : x + 26] = False
        if self.scene.text:
            clear[328:366, 84:300] = False
        if self.scene.panels == 2:
            clear[:, 182:] = False
        return clear

    def _flaws(self, scene: Scene) -> tuple[tuple[str, ...], int]:
        """Whether a side of the subject is missing, or it stands there twice."""
        options: list[tuple[tuple[str, ...], int]] = [
            ((*cut, *doubled), seed)
            for doubled in ((), ("doubled parts",))
            for cut, seed in (((), 0), (("cut limbs",), _SIDES[0]), (("cut limbs",), _SIDES[1]))
        ]
        scenes = [replace(scene, flaws=flaws) for flaws, _ in options]
        return options[self._best(scenes, [seed for _, seed in options])]

    def _gaps(self, scene: Scene, seed: int) -> float:
        """The share of the subject's lines that are not there."""
        expected = self._lines(scene, seed)
        ink = most_of(np.asarray(self._drawn(scene, seed))) < _INKY
        inside = self._covers(replace(scene, sticker=False), seed) & self.clear & self.plain
        if scene.worn("sash"):
            top, bottom = (round(y * self.size) + self.top for y in WAISTS[scene.kind])
            inside[top - 3 : bottom + 4] = False
        strong = (expected > 40) & ink & inside[self.window]
        gone = self.seen.lines[self.window][strong] < 0.35 * expected[strong]
        return float(gone.mean()) if gone.size else 0.0

    def _unspoilt(self, scene: Scene, flaws: Sequence[str], seed: int) -> Mask:
        """Where a subject that is cut or doubled can be seen as it should be."""
        whole = self._covers(scene, 0)
        plain = ~whole | self._covers(
            replace(scene, flaws=tuple(f for f in flaws if f != "doubled parts")), seed
        )
        if "doubled parts" in flaws:
            across, down = (round(share * self.size) for share in DOUBLE)
            plain &= ~np.roll(whole, (down, across), axis=(0, 1))
        return plain

    def _covers(self, scene: Scene, seed: int) -> Mask:
        """Where the subject is, with all that it has on."""
        body = subject(scene, self.size, np.random.default_rng(seed), 2)
        margin = (body.width - self.size) // 2
        whole = Image.new("L", (HALF, HALF))
        whole.paste(body.getchannel("A"), (self.left - margin, self.top - margin))
        return np.asarray(whole) > 100
