"""Recognise the scene of an image from its pixels: draw possible scenes and compare.

This uses no stored scene, only the knowledge of everything that can be drawn.
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
    BLOCK_SIDE,
    HALF_SIDE,
    Mask,
    NormalisedImage,
    apply_style_colours,
    block_means,
    channel_max,
    channel_mean,
    detect_background,
    extract_lines,
    lines_of_drawing,
    normalise_image,
)
from creval.touchstone.render import (
    DOUBLE_OFFSET,
    EXTRAS_MARGIN,
    FIRST_PANEL_X,
    SMALL_SIZE,
    SUBJECT_BASELINE,
    draw_banner,
    draw_container,
    draw_frame,
    draw_sash,
    draw_stage,
    draw_subject,
)
from creval.touchstone.samples import TEXTS
from creval.touchstone.scene import (
    CONTAINERS,
    FRAMES,
    IMAGE_SIDE,
    PATTERNS,
    PLACES,
    SIZES,
    SLOTS,
    Extra,
    Scene,
    SmallObject,
)
from creval.touchstone.shapes import FITS, SMALL_KINDS, SUBJECT_KINDS
from creval.touchstone.sprites import COLOURS, MATERIALS, Pixels, draw_sprite

Places = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Rows and columns of pixels."""
UNREADABLE_TEXT = "?"
"""Text of a banner whose words are not recognised."""
_LOOKS = [
    *((colour, material) for material in ("plain", "wool") for colour in COLOURS),
    *(("yellow", material) for material in MATERIALS if material not in ("plain", "wool")),
]
_PLAIN_LOOKS = len(COLOURS)  # the first entries of `_LOOKS`, the only ones that flat styles can distinguish
_MAX_STRAY = 0.14  # share of a subject's pixels that may differ, at the edges of its lines
_VISIBLE_DIFFERENCE = 12  # of a pixel
_GROUND = (215, 215, 215)
_GAP_THRESHOLD = 0.12  # minimum share of missing lines if outlines are broken
_MAX_DARK_BRIGHTNESS = 110  # maximum of the channels of a pixel of a dark area or its edge
_MAX_INK_BRIGHTNESS = 85  # maximum of the channels of a pixel of ink
_MIN_FIT = 0.26  # minimum fit of the subject's lines in an image that touchstone drew
_MAX_UNEXPLAINED = 0.5  # maximum share of unexpected pixels in a part of the image
_PART_SIDE = 24  # side of such a part in pixels, at half size
_MAX_PIXEL_ERROR = 60.0  # larger errors of a pixel are clipped
_CUT_SEEDS = (2, 0)  # seeds with which the left and the right side are cut off


class RecognisedScene(NamedTuple):
    """A scene and how well it matches the image.

    `fit` is the match of the subject's lines, from 0 to 1. `unexplained` is the share of unexpected pixels in the part
    of the image that matches worst. Together they show whether touchstone drew the image at all.
    """

    scene: Scene
    fit: float
    unexplained: float

    @property
    def is_recognised(self) -> bool:
        """True if the scene explains the whole image."""
        return self.fit >= _MIN_FIT and self.unexplained <= _MAX_UNEXPLAINED


def recognise_scene(image: Image.Image) -> RecognisedScene:
    """Return the scene that matches an image best."""
    seen = normalise_image(image)
    background, backdrop = detect_background(seen)
    panels = 2 if _has_gutter(seen) else 1
    kind, size, place, fit = _find_subject(seen, panels)
    flaws = [*(["noise"] if seen.has_noise else ()), *(["banding"] if seen.has_banding else ())]
    scene = Scene(
        kind,
        "blue",
        size=size,
        place=place,
        others=_find_small_objects(seen),
        background=background,
        backdrop=backdrop,
        style=seen.style,
        container=_find_overlay(CONTAINERS, _container_reference, seen),
        frame=_find_overlay(FRAMES, _frame_reference, seen),
        panels=panels,
        text=_read_banner(seen),
        flaws=tuple(flaws),
    )
    body = _SubjectAnalyser(seen, scene)
    found = body.analyse()
    return RecognisedScene(found, fit, body.unexplained_share())


# Things with a fixed look and position: frames, the gutter of a comic, containers, the banner.


def _agreement(colours: Pixels, places: Places, observed: NormalisedImage) -> float:
    """Return the share of the given positions at which the image has the expected colours."""
    apart = channel_mean(np.abs(observed.colours[places] - apply_style_colours(colours, observed.style)[places]))
    return float((apart < (26 if observed.has_noise else 18)).mean())


def _sample_places(mask: Mask) -> Places:
    """Return about 3,000 evenly spaced positions inside a mask."""
    rows, columns = np.nonzero(mask)
    step = max(1, len(rows) // 3000)
    return rows[::step], columns[::step]


def _line_correlation(drawn: Pixels, lines: Pixels) -> float:
    """Return the correlation of the lines in two windows, from -1 to 1."""
    one, other = drawn.ravel(), lines.ravel()
    one, other = one - one.mean(), other - other.mean()
    length = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / length if length > 1 else 0.0


@lru_cache(maxsize=3)
def _frame_layer(kind: str) -> tuple[Pixels, Mask]:
    """Return a frame and the mask that it covers, at half size."""
    drawn = []
    for shade in (90, 170):
        image = Image.new("RGB", (IMAGE_SIDE, IMAGE_SIDE), (shade, shade, shade))
        draw_frame(image, kind)
        drawn.append(image.reduce(2))
    covered = channel_max(np.asarray(ImageChops.difference(*drawn))) < 2
    return np.asarray(drawn[0]).astype(np.float32), covered


@lru_cache(maxsize=3)
def _frame_reference(kind: str) -> tuple[Pixels, Places]:
    """Return a frame and some positions that the frame always covers."""
    drawn, covered = _frame_layer(kind)
    inner = covered & np.roll(covered, 3, 0) & np.roll(covered, -3, 0)
    inner &= np.roll(covered, 3, 1) & np.roll(covered, -3, 1)
    return drawn, _sample_places(inner)


def _find_overlay(
    kinds: Iterable[str], drawn: Callable[[str], tuple[Pixels, Places]], observed: NormalisedImage
) -> str:
    """Return the kind of overlay in the image, or "" if there is none. Styles without colours have no overlays."""
    found = {kind: _agreement(*drawn(kind), observed) for kind in kinds if observed.has_visible_colours}
    best = max(found, key=lambda kind: found[kind], default="")
    return best if found.get(best, 0.0) > 0.6 else ""


def _has_gutter(observed: NormalisedImage) -> bool:
    """Return whether a white stripe between two lines divides the image."""
    stripe = observed.lines[30:320]
    edges = stripe[:, [185, 186, 197, 198]].reshape(-1, 2, 2).max(axis=-1).mean(axis=-1)
    inside = stripe[:, 189:195].mean(axis=-1)
    return bool((edges > inside + 25).mean() > 0.8)


@lru_cache(maxsize=4)
def _container_reference(kind: str) -> tuple[Pixels, Places]:
    """Return a container and some positions at which it is opaque."""
    layer = np.asarray(draw_container(kind, behind=False, reduction=2)).astype(np.float32)
    return layer[..., :3], _sample_places(layer[..., 3] > 250)


_BANNER_WINDOW = np.s_[332:364, 88:296]


@lru_cache(maxsize=64)
def _banner_lines(words: str, style: str) -> Pixels:
    """Return the lines of a banner with these words."""
    image = Image.new("RGB", (IMAGE_SIDE, IMAGE_SIDE), (190, 190, 190))
    draw_banner(image, words)
    window = image.crop((176, 656, 592, 736))
    return lines_of_drawing(window.reduce, style)[4:36]


def _read_banner(observed: NormalisedImage) -> str:
    window = observed.lines[_BANNER_WINDOW]
    found = {words: _line_correlation(_banner_lines(words, observed.style), window) for words in TEXTS}
    best = max(found, key=lambda words: found[words])
    if found[best] < 0.5:
        return ""
    return best if found[best] > 0.75 or observed.has_noise else UNREADABLE_TEXT


# Small objects.


@lru_cache(maxsize=24)
def _small_object_references(style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """Return all small objects in all colours, drawn at an offset in a window, and their masks."""
    drawn, masks = [], []
    for kind, colour in product(SMALL_KINDS, COLOURS):
        thing, alpha = _draw_in_window(draw_sprite(kind, colour, SMALL_SIZE // 2, reduction=2), across, down, style)
        drawn.append(thing)
        masks.append(alpha > 0.9)
    return np.stack(drawn), np.stack(masks)


def _draw_in_window(image: Image.Image, across: int, down: int, style: str) -> tuple[Pixels, Pixels]:
    """Return the colours of an object in a style, and its opacity, in a window of whole blocks."""
    wide, high = (-(-(n + d) // BLOCK_SIDE) * BLOCK_SIDE for n, d in zip(image.size, (across, down), strict=True))
    canvas = Image.new("RGBA", (wide, high), (200, 200, 200, 0))
    canvas.paste(image, (across, down))
    pixels = np.asarray(canvas).astype(np.float32)
    alpha = pixels[..., 3] / np.float32(255)
    if style != "pixel art":
        return apply_style_colours(pixels[..., :3], style), alpha
    own = alpha[..., None]
    blended = pixels[..., :3] * own + 200 * (1 - own)
    share = block_means(alpha, BLOCK_SIDE).repeat(BLOCK_SIDE, axis=0).repeat(BLOCK_SIDE, axis=1)
    return apply_style_colours(blended, style), share


@lru_cache(maxsize=12)
def _small_object_lines(style: str, kind: str) -> Pixels:
    """Return the lines of a small object."""

    def make(shrunk: int) -> Image.Image:
        thing = draw_sprite(kind, "blue", SMALL_SIZE // shrunk, reduction=shrunk)
        ground = Image.new("RGBA", thing.size, (*_GROUND, 255))
        ground.alpha_composite(thing)
        return ground.convert("RGB")

    return lines_of_drawing(make, style)


def _find_small_objects(observed: NormalisedImage) -> tuple[SmallObject, ...]:
    found = []
    names = list(product(SMALL_KINDS, COLOURS))
    for slot, (x, y) in SLOTS.items():
        left, top = ((at - SMALL_SIZE // 2) // 2 for at in (x, y))
        if not observed.has_visible_colours:
            window = observed.lines[top : top + SMALL_SIZE // 2, left : left + SMALL_SIZE // 2]
            kinds = {kind: _line_correlation(_small_object_lines(observed.style, kind), window) for kind in SMALL_KINDS}
            kind = max(kinds, key=lambda kind: kinds[kind])
            if kinds[kind] > 0.5:
                found.append(SmallObject(kind, "blue", slot))
            continue
        across, down = left % BLOCK_SIDE, top % BLOCK_SIDE
        drawn, masks = _small_object_references(observed.style, across, down)
        high, wide = masks.shape[1:]
        window = observed.colours[top - down :, left - across :][:high, :wide]
        apart = np.minimum(channel_mean(np.abs(drawn - window)), np.float32(_MAX_PIXEL_ERROR))
        error = (apart * masks).sum(axis=(1, 2)) / masks.sum(axis=(1, 2))
        best = int(error.argmin())
        if error[best] < (24 if observed.has_noise else 17):
            found.append(SmallObject(*names[best], slot))
    return tuple(found)


# The subject.


def _subject_origin(size: str, x: int) -> tuple[int, int]:
    """Return the top left corner of a subject's square, at half size."""
    return (x - SIZES[size] // 2) // 2, (SUBJECT_BASELINE - SIZES[size]) // 2


@lru_cache(maxsize=100)
def _subject_templates(size: str, across: int, down: int, style: str) -> tuple[Pixels, Pixels]:
    """Return the lines and masks of all kinds of subjects, at a quarter of the full size.

    They are placed at an offset in a window. Lines have mean 0 and norm 1.
    """
    side = -(-(SIZES[size] // 2 + BLOCK_SIDE) // BLOCK_SIDE) * BLOCK_SIDE
    lines, places = [], []
    for kind in SUBJECT_KINDS:

        def make(shrunk: int, kind: str = kind) -> Image.Image:
            larger = 2 // shrunk
            ground = Image.new("RGBA", (side * larger, side * larger), (*_GROUND, 255))
            body = draw_sprite(kind, "blue", SIZES[size] // shrunk, reduction=shrunk)
            ground.alpha_composite(body, (across * larger, down * larger))
            return ground.convert("RGB")

        alpha = Image.new("L", (side, side))
        body = draw_sprite(kind, "blue", SIZES[size] // 2, reduction=2)
        alpha.paste(body.getchannel("A"), (across, down))
        inside = np.asarray(alpha.reduce(2)).ravel() > 100
        drawn = block_means(lines_of_drawing(make, style), 2).ravel()
        drawn = np.where(inside, drawn - drawn[inside].mean(), np.float32(0))
        lines.append(drawn / np.linalg.norm(drawn))
        places.append(inside.astype(np.float32))
    return np.stack(lines), np.stack(places)


def _find_subject(observed: NormalisedImage, panels: int) -> tuple[str, str, str, float]:
    """Return the kind, size and place of the subject, and its fit."""
    lines = block_means(observed.lines, 2)
    step = BLOCK_SIDE if observed.style == "pixel art" else 2
    options = [(size, place, x) for size in SIZES for place, x in PLACES.items()]
    if panels == 2:
        options = [("small", "centre", FIRST_PANEL_X)]
    best, most = ("", "", ""), -1.0
    for size, place, x in options:
        left, top = _subject_origin(size, x)
        drawn, inside = _subject_templates(size, left % step, top % step, observed.style)
        left, top = left // step * step // 2, top // step * step // 2
        side = math.isqrt(drawn.shape[1])
        window = lines[top : top + side, left : left + side].ravel()
        varied = inside @ np.square(window) - np.square(inside @ window) / inside.sum(axis=1)
        matches = drawn @ window / np.sqrt(np.maximum(varied, 1))
        at = int(matches.argmax())
        if matches[at] > most:
            best, most = (list(SUBJECT_KINDS)[at], size, place), float(matches[at])
    return *best, most


@lru_cache(maxsize=42)
def _subject_references(kind: str, size: int, style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """Return every second pixel of a subject in all colours and materials, and the mask of opaque pixels."""
    drawn = []
    for colour, material in _LOOKS if style == "painting" else _LOOKS[:_PLAIN_LOOKS]:
        thing, alpha = _draw_in_window(draw_sprite(kind, colour, size, material, reduction=2), across, down, style)
        drawn.append(thing[::2, ::2])
    return np.stack(drawn), alpha[::2, ::2] > 0.95


@lru_cache(maxsize=300)
def _extra_references(
    extra: str, kind: str, size: int, style: str, across: int, down: int
) -> tuple[Pixels, Mask, int, int]:
    """Return an extra in all colours, its mask, and how far it extends beyond the left and top of the subject's square.

    `across` and `down` are the offset of the square from the border of a block.
    """
    margin = -(-round(EXTRAS_MARGIN * size) // BLOCK_SIDE) * BLOCK_SIDE
    drawn = []
    for colour in COLOURS:
        image = draw_sprite(extra, colour, size, margin=margin, worn_by=kind, reduction=2)
        thing, alpha = _draw_in_window(image, across, down, style)
        mask = alpha > 0.9
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        drawn.append(thing[box])
    return np.stack(drawn), mask[box], margin - int(columns[0]), margin - int(rows[0])


@lru_cache(maxsize=100)
def _sash_references(kind: str, size: int, style: str, across: int, down: int) -> tuple[Pixels, Mask]:
    """Return every second pixel of sashes in all patterns and colours, and their mask."""
    body = draw_sprite(kind, "blue", size, reduction=2)
    drawn = []
    for pattern, colour in product(PATTERNS, COLOURS):
        band = draw_sash(Extra("sash", colour, pattern), body, kind, size, 2)
        thing, alpha = _draw_in_window(band, across, down, style)
        drawn.append(thing[::2, ::2])
    return np.stack(drawn), alpha[::2, ::2] > 0.9


def _blocks_around(start: int, stop: int) -> slice:
    """Return a range of pixels extended to whole blocks, clipped to the image."""
    return slice(max(0, start // BLOCK_SIDE * BLOCK_SIDE), min(HALF_SIDE, -(-stop // BLOCK_SIDE) * BLOCK_SIDE))


class _SubjectAnalyser:
    """Detects the subject's colour, material, extras and flaws, given its kind, size and place."""

    def __init__(self, observed: NormalisedImage, scene: Scene) -> None:
        self.observed, self.scene = observed, scene
        self.x = FIRST_PANEL_X if scene.panels == 2 else PLACES[scene.place]
        self.size = SIZES[scene.size] // 2
        self.left, self.top = _subject_origin(scene.size, self.x)
        self.limit = 28 if observed.has_noise else 20
        # Offset of the square from the border of a block, which matters for pixel art only.
        step = BLOCK_SIDE if observed.style == "pixel art" else 1
        self.across, self.down = self.left % step, self.top % step
        self.front = None
        if scene.container:
            layer = draw_container(scene.container, behind=False, reduction=2)
            self.front = np.asarray(layer).astype(np.float32)
        # Area in which the subject is not spoilt by flaws, as far as known.
        self.visible = np.ones((HALF_SIDE, HALF_SIDE), dtype=bool)
        self._colours_cache: dict[tuple[Scene, int], Pixels] = {}
        self.unobstructed = self._unobstructed_area()
        reach = round(0.4 * self.size)
        self.window = (
            _blocks_around(self.top - reach, self.top + self.size + reach),
            _blocks_around(self.left - reach, self.left + self.size + reach),
        )

    def analyse(self) -> Scene:
        """Return the scene with the look, extras and flaws of the subject."""
        dressed = self._detect_appearance()
        found: tuple[str, ...] = ()
        seed = 0
        if not self._matches_image(dressed):
            dressed = self._detect_sticker(dressed)
            found, seed = self._detect_flaws(dressed)
        if found:  # analyse again without the areas that are cut off or doubled
            self.visible = self._unspoilt_area(dressed, found, seed)
            dressed = self._detect_sticker(self._detect_appearance())
            found, seed = self._detect_flaws(dressed)
        if self._missing_line_share(replace(dressed, flaws=found), seed) > _GAP_THRESHOLD:
            found = ("broken outlines", *found)
        self.result = replace(dressed, flaws=found), seed
        return replace(dressed, flaws=(*self.scene.flaws, *found))

    def unexplained_share(self) -> float:
        """Return the share of unexpected pixels in the part of the image that matches worst."""
        if not self.observed.has_visible_colours:  # lines depend too much on other lines
            return 0.0
        scene, seed = self.result
        broken = "broken outlines" in scene.flaws
        scene = replace(scene, flaws=tuple(f for f in scene.flaws if f != "broken outlines"))
        drawn = draw_stage(scene, np.random.default_rng(seed), 2, self.x)
        for other in scene.others:
            thing = draw_sprite(other.kind, other.colour, SMALL_SIZE // 2, reduction=2)
            x, y = ((at - SMALL_SIZE // 2) // 2 for at in SLOTS[other.slot])
            drawn.paste(thing, (x, y), thing)
        pixels = np.array(drawn, dtype=np.float32)
        if scene.frame:
            frame_, covered = _frame_layer(scene.frame)
            pixels[covered] = frame_[covered]
        some = np.s_[::2, ::2]  # every second pixel is enough
        looks = (
            apply_style_colours(pixels, self.observed.style)[some]
            if self.observed.style == "pixel art"
            else apply_style_colours(pixels[some], self.observed.style)
        )
        wrong = channel_mean(np.abs(looks - self.observed.colours[some])) > self.limit + 6
        if broken:  # missing lines may have any colour
            wrong[channel_max(pixels[some]) < _MAX_DARK_BRIGHTNESS] = False
        if scene.text:
            wrong[164:183, 42:150] = False
        if scene.panels == 2:
            wrong[:, 91:] = wrong[:3] = wrong[-3:] = wrong[:, :3] = False
        return float(block_means(wrong.astype(np.float32), _PART_SIDE // 2).max())

    def _detect_appearance(self) -> Scene:
        """Return the scene with the subject's colour, material and extras."""
        if not self.observed.has_visible_colours:
            return self._detect_extras_in_lines()
        colour, material = self._detect_look()
        bare = replace(self.scene, colour=colour, material=material)
        return replace(bare, extras=(*self._detect_extras(bare), *self._detect_sash(colour, material)))

    def _detect_sticker(self, scene: Scene) -> Scene:
        """Return the scene, with a sticker's border if there is one."""
        if not self.observed.has_visible_colours:  # styles without colours have none
            return scene
        bordered = replace(scene, sticker=True)
        return [scene, bordered][self._best_match([scene, bordered])]

    def _matches_image(self, scene: Scene) -> bool:
        """Return whether the image matches the drawing of a scene, on and around the subject."""
        if not self.observed.has_visible_colours:
            return False
        wrong = channel_mean(np.abs(self._expected_colours(scene) - self.observed.colours[self.window])) > self.limit
        stray = np.count_nonzero(wrong & self.unobstructed[self.window])
        return bool(stray < _MAX_STRAY * np.count_nonzero(self._subject_mask(scene, 0)))

    def _pixel_errors(
        self, drawn: Pixels, mask: Mask, left: int, top: int, *, step: int = 1, hidden: Mask | None = None
    ) -> Pixels:
        """Return by how much each of several drawn windows differs from the image, at the visible pixels of a mask."""
        high, wide = mask.shape
        rows, columns = np.arange(high) * step + top, np.arange(wide) * step + left
        inside = ((rows >= 0) & (rows < HALF_SIDE))[:, None] & ((columns >= 0) & (columns < HALF_SIDE))
        place = np.ix_(np.clip(rows, 0, HALF_SIDE - 1), np.clip(columns, 0, HALF_SIDE - 1))
        here = mask & inside & self.visible[place]
        if hidden is not None:
            here &= ~hidden[place]
        if not here.any():
            return np.full((len(drawn), 1), _MAX_PIXEL_ERROR, dtype=np.float32)
        drawn = drawn[:, here]
        if self.front is not None:
            front = self.front[place][here]
            share = front[..., 3:] / np.float32(255)
            drawn = drawn * (1 - share) + front[..., :3] * share
        apart = channel_mean(np.abs(drawn - self.observed.colours[place][here]))
        return np.minimum(apart, np.float32(_MAX_PIXEL_ERROR))

    def _detect_look(self) -> tuple[str, str]:
        """Return the subject's colour and material, from the parts that no sash can cover."""
        across, down = self.across, self.down
        drawn, mask = _subject_references(self.scene.kind, self.size, self.observed.style, across, down)
        mask = mask.copy()
        top, bottom = (round(y * self.size) + down for y in FITS[self.scene.kind].waist)
        mask[top // 2 - 2 : bottom // 2 + 3] = False
        errors = self._pixel_errors(drawn, mask, self.left - across, self.top - down, step=2)
        return _LOOKS[int(errors.mean(axis=1).argmin())]

    def _detect_extras(self, bare: Scene) -> list[Extra]:
        """Return the subject's extras other than a sash."""
        found: dict[str, tuple[float, Extra]] = {}
        across, down = self.across, self.down
        body = self._subject_mask(bare, 0)
        other = np.zeros((HALF_SIDE, HALF_SIDE), dtype=bool)
        apart = np.abs(self._expected_colours(bare) - self.observed.colours[self.window])
        other[self.window] = channel_mean(apart) > self.limit
        for kind in ("wings", "wheels", "hat", "crown"):
            if not self._is_changed(kind, other, body):
                continue
            drawn, mask, before, above = _extra_references(
                kind, self.scene.kind, self.size, self.observed.style, across, down
            )
            left, top = self.left - across - before, self.top - down - above
            masks = [mask]
            if kind in ("wings", "wheels"):  # these are behind the subject, and one of two may be cut off
                middle = self.left + self.size // 2 - left
                masks = [mask.copy(), mask.copy()]
                masks[0][:, middle:] = masks[1][:, :middle] = False
            place = "head" if kind in ("hat", "crown") else kind
            for part in masks:
                hidden = body if len(masks) > 1 else None
                errors = self._pixel_errors(drawn, part, left, top, hidden=hidden)
                shares = (errors < self.limit).mean(axis=1)
                best = int(shares.argmax())
                if shares[best] > max(0.5, found.get(place, (0.0,))[0]):
                    found[place] = float(shares[best]), Extra(kind, list(COLOURS)[best])
        return [extra for _, extra in found.values()]

    def _is_changed(self, kind: str, other: Mask, body: Mask) -> bool:
        """Return whether the image differs from the subject without extras, at the position of this kind of extra."""
        extra = draw_sprite(kind, "blue", self.size, margin=self.size // 2, worn_by=self.scene.kind, reduction=2)
        whole = Image.new("L", (HALF_SIDE, HALF_SIDE))
        at = self.left - self.size // 2, self.top - self.size // 2
        whole.paste(extra.getchannel("A"), at)
        mask = np.asarray(whole) > 230
        if kind in ("wings", "wheels"):
            mask = mask & ~body
        return bool(other[mask].mean() > 0.25) if mask.any() else False

    def _detect_sash(self, colour: str, material: str) -> list[Extra]:
        across, down = self.across, self.down
        at = self.left - across, self.top - down
        drawn, mask = _sash_references(self.scene.kind, self.size, self.observed.style, across, down)
        errors = self._pixel_errors(drawn, mask, *at, step=2)
        best = int(errors.mean(axis=1).argmin())
        bodies, _ = _subject_references(self.scene.kind, self.size, self.observed.style, across, down)
        without = bodies[_LOOKS.index((colour, material))][None]
        bare = self._pixel_errors(without, mask, *at, step=2)
        if errors[best].mean() > 0.75 * bare.mean() or (errors[best] < self.limit).mean() < 0.4:
            return []
        pattern, tone = list(product(PATTERNS, COLOURS))[best]
        return [Extra("sash", tone, pattern)]

    def _detect_extras_in_lines(self) -> Scene:
        """Return the scene with the subject's extras, from lines only."""
        scene = self.scene
        for kinds in (("wings",), ("wheels",), ("sash",), ("hat", "crown")):
            options = [replace(scene, extras=(*scene.extras, Extra(kind, "red"))) for kind in kinds]
            scene = [scene, *options][self._best_match([scene, *options])]
        return scene

    def _draw_window(self, scene: Scene, seed: int, reduction: int = 2) -> Image.Image:
        """Draw the part of the scene around the subject, without a style and without objects in front."""
        image = draw_stage(scene, np.random.default_rng(seed), reduction, self.x)
        rows, columns = self.window
        edges = (columns.start, rows.start, columns.stop, rows.stop)
        left, top, right, bottom = (edge * 2 // reduction for edge in edges)
        return image.crop((left, top, right, bottom))

    def _expected_colours(self, scene: Scene, seed: int = 0) -> Pixels:
        if (scene, seed) not in self._colours_cache:
            drawn = np.asarray(self._draw_window(scene, seed)).astype(np.float32)
            self._colours_cache[scene, seed] = apply_style_colours(drawn, self.observed.style)
        return self._colours_cache[scene, seed]

    def _expected_lines(self, scene: Scene, seed: int) -> Pixels:
        if self.observed.has_visible_colours:
            return extract_lines(self._expected_colours(scene, seed), self.observed.style)
        return lines_of_drawing(lambda shrunk: self._draw_window(scene, seed, shrunk), self.observed.style)

    def _best_match(self, scenes: Sequence[Scene], seeds: Sequence[int] = ()) -> int:
        """Return the index of the scene that matches the image best.

        Only pixels in which the scenes differ are compared, by colours or, if the style has none, by lines.
        """
        pairs = zip(scenes, seeds or [0] * len(scenes), strict=True)
        if self.observed.has_visible_colours:
            seen = self.observed.colours[self.window]
            looks = [self._expected_colours(*one) for one in pairs]
            changes = [channel_max(np.abs(look - looks[0])) > _VISIBLE_DIFFERENCE for look in looks[1:]]
            apart = [channel_mean(np.abs(look - seen)) for look in looks]
        else:
            lines = [self._expected_lines(*one) for one in pairs]
            changes = [np.abs(look - lines[0]) > _VISIBLE_DIFFERENCE for look in lines[1:]]
            apart = [np.abs(look - self.observed.lines[self.window]) for look in lines]
        differ = np.logical_or.reduce(changes) & self.unobstructed[self.window]
        if not differ.any():
            return 0
        return int(np.argmin([np.minimum(errors[differ], _MAX_PIXEL_ERROR).mean() for errors in apart]))

    def _unobstructed_area(self) -> Mask:
        """Return the mask of pixels at which nothing can cover the subject."""
        clear = np.ones((HALF_SIDE, HALF_SIDE), dtype=bool)
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

    def _detect_flaws(self, scene: Scene) -> tuple[tuple[str, ...], int]:
        """Return the flaws of the subject (cut limbs, doubled parts) and the seed that reproduces them."""
        options: list[tuple[tuple[str, ...], int]] = [
            ((*cut, *doubled), seed)
            for doubled in ((), ("doubled parts",))
            for cut, seed in (((), 0), (("cut limbs",), _CUT_SEEDS[0]), (("cut limbs",), _CUT_SEEDS[1]))
        ]
        scenes = [replace(scene, flaws=flaws) for flaws, _ in options]
        return options[self._best_match(scenes, [seed for _, seed in options])]

    def _missing_line_share(self, scene: Scene, seed: int) -> float:
        """Return the share of the subject's lines that are missing."""
        expected = self._expected_lines(scene, seed)
        ink = channel_max(np.asarray(self._draw_window(scene, seed))) < _MAX_INK_BRIGHTNESS
        inside = self._subject_mask(replace(scene, sticker=False), seed) & self.unobstructed & self.visible
        if scene.find_extra("sash"):
            top, bottom = (round(y * self.size) + self.top for y in FITS[scene.kind].waist)
            inside[top - 3 : bottom + 4] = False
        strong = (expected > 40) & ink & inside[self.window]
        gone = self.observed.lines[self.window][strong] < 0.35 * expected[strong]
        return float(gone.mean()) if gone.size else 0.0

    def _unspoilt_area(self, scene: Scene, flaws: Sequence[str], seed: int) -> Mask:
        """Return the mask of pixels at which a cut or doubled subject is unaffected."""
        whole = self._subject_mask(scene, 0)
        plain = ~whole | self._subject_mask(replace(scene, flaws=tuple(f for f in flaws if f != "doubled parts")), seed)
        if "doubled parts" in flaws:
            across, down = (round(share * self.size) for share in DOUBLE_OFFSET)
            plain &= ~np.roll(whole, (down, across), axis=(0, 1))
        return plain

    def _subject_mask(self, scene: Scene, seed: int) -> Mask:
        """Return the mask of the subject with its extras."""
        body = draw_subject(scene, self.size, np.random.default_rng(seed), 2)
        margin = (body.width - self.size) // 2
        whole = Image.new("L", (HALF_SIDE, HALF_SIDE))
        whole.paste(body.getchannel("A"), (self.left - margin, self.top - margin))
        return np.asarray(whole) > 100
