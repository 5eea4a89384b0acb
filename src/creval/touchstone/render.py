"""Draw a scene: backdrop, objects, containers and frames, then the style, then the flaws."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from creval.touchstone.scene import IMAGE_SIDE, PLACES, SIZES, SLOTS, Extra, Scene
from creval.touchstone.shapes import FITS
from creval.touchstone.sprites import COLOURS, INK, Colour, Pixels, draw_sprite, mix_colours

GROUND_TOP = 540
"""Row at which the ground begins."""
SUBJECT_BASELINE = 632
"""Row of the subject's feet."""
FIRST_PANEL_X = 200
"""Horizontal centre of the subject in the first of two panels."""
SMALL_SIZE = 92
EXTRAS_MARGIN = 0.42
"""Margin around the subject for extras, relative to its size."""
DOUBLE_OFFSET = (0.15, -0.1)
"""Offset of the copy of a doubled subject, to the right and down, relative to its size."""
BAND_ROWS, BAND_BRIGHTNESS = 14, 0.8
"""Height of a band in rows, and the brightness of every second one."""
_SECOND_PANEL_X = 584  # centre of the subject in the second panel
_SECOND_PANEL_SIZE = 280  # of the subject
_PAPER: Colour = (250, 246, 234)
_WHITE: Colour = (255, 255, 255)


def draw_scene(scene: Scene) -> Image.Image:
    """Return the image of a scene, 768 pixels wide and high."""
    chance = np.random.default_rng(scene.seed)
    if scene.panels == 2:
        image = draw_backdrop(scene.background, scene.backdrop).copy()
        _draw_panels(image, scene, chance)
    else:
        image = draw_stage(scene, chance)
    for other in scene.others:
        small = draw_sprite(other.kind, other.colour, SMALL_SIZE)
        x, y = SLOTS[other.slot]
        image.paste(small, (x - SMALL_SIZE // 2, y - SMALL_SIZE // 2), small)
    if scene.text:
        draw_banner(image, scene.text)
    draw_frame(image, scene.frame)
    image = STYLE_FILTERS[scene.style](image)
    if "banding" in scene.flaws:
        image = _add_banding(image)
    if "noise" in scene.flaws:
        image = _add_noise(image, chance)
    return image


def draw_stage(scene: Scene, rng: np.random.Generator, reduction: int = 1, x: int | None = None) -> Image.Image:
    """Return the backdrop with the subject and its container.

    The subject is centred at `x`, by default at its place in the scene. `reduction` divides all sizes.
    """
    image = draw_backdrop(scene.background, scene.backdrop, reduction).copy()
    size = SIZES[scene.size] // reduction
    if scene.container:
        layer = draw_container(scene.container, behind=True, reduction=reduction)
        image.paste(layer, (0, 0), layer)
    body = draw_subject(scene, size, rng, reduction)
    at = (PLACES[scene.place] if x is None else x) // reduction, SUBJECT_BASELINE // reduction
    _place_on_ground(image, body, *at, size, shadow=not scene.sticker)
    if scene.container:
        layer = draw_container(scene.container, behind=False, reduction=reduction)
        image.paste(layer, (0, 0), layer)
    return image


def draw_subject(scene: Scene, size: int, rng: np.random.Generator, reduction: int = 1) -> Image.Image:
    """Return the subject with its extras and flaws, and a margin around it."""
    margin = round(EXTRAS_MARGIN * size)
    body = draw_sprite(scene.kind, scene.colour, size, scene.material, margin=margin, reduction=reduction)
    made = Image.new("RGBA", body.size, (*INK, 0))
    layers = {extra.kind: extra for extra in scene.extras}

    def draw_extra(extra: Extra) -> Image.Image:
        kind, colour = extra.kind, extra.colour
        return draw_sprite(kind, colour, size, margin=margin, worn_by=scene.kind, reduction=reduction)

    for kind in ("wings", "wheels"):
        if kind in layers:
            made.alpha_composite(draw_extra(layers[kind]))
    made.alpha_composite(body)
    if "sash" in layers:
        made.alpha_composite(draw_sash(layers["sash"], body, scene.kind, size, reduction))
    for kind in ("hat", "crown"):
        if kind in layers:
            made.alpha_composite(draw_extra(layers[kind]))
    if "broken outlines" in scene.flaws:
        made = _break_outlines(made, rng)
    if "cut limbs" in scene.flaws:
        made = _cut_off_side(made, size, margin, rng)
    if "doubled parts" in scene.flaws:
        made = _add_double(made, size)
    return _add_sticker_border(made, size, 3 / reduction) if scene.sticker else made


def _place_on_ground(image: Image.Image, body: Image.Image, x: int, y: int, size: int, *, shadow: bool = True) -> None:
    """Paste a subject with its shadow. (x, y) is the middle of its feet."""
    margin = (body.width - size) // 2
    if shadow:
        spot = Image.new("L", (size, size // 5), 0)
        inset = size // 10
        ImageDraw.Draw(spot).ellipse((inset, size // 30, size - inset, size // 5 - size // 30), 110)
        spot = spot.filter(ImageFilter.GaussianBlur(size / 40))
        at = (x - size // 2 + size // 14, y - size // 8)
        image.paste(Image.new("RGB", spot.size, INK), at, spot)
    at = (x - size // 2 - margin, y - size - margin)
    image.paste(body, at, body)


def _draw_panels(image: Image.Image, scene: Scene, rng: np.random.Generator) -> None:
    """Draw two panels of a comic: the subject small, then larger and mirrored."""
    left = draw_subject(scene, SIZES["small"], rng)
    right = draw_subject(scene, _SECOND_PANEL_SIZE, rng).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    _place_on_ground(image, left, FIRST_PANEL_X, SUBJECT_BASELINE, SIZES["small"])
    _place_on_ground(image, right, _SECOND_PANEL_X, SUBJECT_BASELINE, _SECOND_PANEL_SIZE)
    pen = ImageDraw.Draw(image)
    pen.rectangle((372, 0, 396, IMAGE_SIDE), _WHITE)
    for x in (372, 396):
        pen.line((x, 0, x, IMAGE_SIDE), INK, 6)
    pen.rectangle((0, 0, IMAGE_SIDE - 1, IMAGE_SIDE - 1), outline=INK, width=8)


@lru_cache(maxsize=96)
def draw_backdrop(background: str, colour: str, reduction: int = 1) -> Image.Image:
    """Return the image behind all objects."""
    if reduction > 1:
        return draw_backdrop(background, colour).reduce(reduction)
    tint = mix_colours(COLOURS[colour], _WHITE, 0.5)
    fine = 2
    image = _gradient(mix_colours(tint, _WHITE, 0.25), tint, IMAGE_SIDE * fine)
    pen = ImageDraw.Draw(image)
    side, floor = IMAGE_SIDE * fine, GROUND_TOP * fine
    BACKDROP_PAINTERS[background](pen, tint, side, floor)
    return image.reduce(fine)


def _gradient(top: Colour, bottom: Colour, side: int) -> Image.Image:
    column = Image.linear_gradient("L").resize((1, side))
    return Image.composite(Image.new("RGB", (1, side), bottom), Image.new("RGB", (1, side), top), column).resize(
        (side, side)
    )


def _room(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    for x in range(0, side, side // 12):
        pen.rectangle((x, 0, x + side // 24, floor), mix_colours(tint, _WHITE, 0.3))
    pen.rectangle((0, floor, side, side), (206, 170, 130))
    for at, y in enumerate(range(floor, side, side // 18)):
        pen.line((0, y, side, y), (176, 138, 100), 4)
        for x in range((at % 2) * side // 8, side, side // 4):
            pen.line((x, y, x, y + side // 18), (176, 138, 100), 4)
    pen.rectangle((0, floor - 22, side, floor), (250, 246, 236))
    pen.line((0, floor, side, floor), (150, 120, 92), 5)


def _meadow(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    for x, y, r in (
        (0.2, 0.3, 0.06),
        (0.26, 0.28, 0.08),
        (0.33, 0.3, 0.06),
        (0.72, 0.36, 0.05),
        (0.78, 0.34, 0.07),
        (0.85, 0.36, 0.05),
    ):
        box = ((x - r) * side, (y - r * 0.6) * side, (x + r) * side, (y + r * 0.6) * side)
        pen.ellipse(box, mix_colours(tint, _WHITE, 0.75))
    pen.ellipse((-0.3 * side, 0.6 * side, 0.6 * side, 1.5 * side), (150, 196, 122))
    pen.ellipse((0.35 * side, 0.64 * side, 1.4 * side, 1.6 * side), (136, 186, 112))
    pen.rectangle((0, floor + 60, side, side), (124, 176, 102))


def _beach(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    pen.ellipse((0.76 * side, 0.24 * side, 0.92 * side, 0.4 * side), mix_colours(tint, (255, 240, 190), 0.8))
    pen.rectangle((0, 0.56 * side, side, floor), (112, 178, 206))
    for at in range(3):
        y = 0.585 * side + at * 0.035 * side
        pen.line((0.1 * side * at, y, side - 0.12 * side * at, y), (160, 208, 226), 6)
    pen.rectangle((0, floor - 8, side, side), (236, 214, 166))
    pen.rectangle((0, floor - 8, side, floor + 6), (248, 240, 216))


def _night(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    sky = mix_colours(tint, (24, 26, 64), 0.55)
    pen.rectangle((0, 0, side, side), sky)
    for ring, share in ((0.13, 0.12), (0.1, 0.24), (0.06, 1.0)):
        box = tuple(at * side for at in (0.14 - ring, 0.34 - ring, 0.14 + ring, 0.34 + ring))
        pen.ellipse(box, mix_colours(sky, (244, 236, 196), share))
    far = mix_colours(sky, (70, 84, 110), 0.28)
    pen.ellipse((-0.2 * side, 0.56 * side, 0.5 * side, 1.2 * side), far)
    pen.ellipse((0.4 * side, 0.6 * side, 1.3 * side, 1.3 * side), mix_colours(far, sky, 0.4))
    pen.rectangle((0, floor, side, side), mix_colours(sky, (70, 84, 110), 0.5))


def _studio(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    for step in range(40):
        y = floor + step * (side - floor) / 40
        pen.rectangle((0, y, side, side), mix_colours(tint, INK, 0.14 - 0.003 * step))


def _street(pen: ImageDraw.ImageDraw, tint: Colour, side: int, floor: int) -> None:
    wall = mix_colours(tint, INK, 0.2)
    heights = (0.36, 0.46, 0.3, 0.5, 0.4, 0.28, 0.44)
    for at, height in enumerate(heights):
        left = at * side / len(heights)
        right = (at + 1) * side / len(heights) - 8
        colour = mix_colours(wall, _WHITE, 0.12 * (at % 3))
        pen.rectangle((left, height * side, right, floor), colour)
        for row in range(3):
            for column in range(2):
                x = left + (0.2 + 0.4 * column) * (right - left)
                y = height * side + (0.05 + 0.075 * row) * side
                pen.rectangle((x, y, x + 0.03 * side, y + 0.04 * side), mix_colours(tint, _WHITE, 0.6))
    pen.rectangle((0, floor, side, side), (168, 168, 174))
    pen.rectangle((0, floor, side, floor + 26), (198, 198, 202))
    for x in range(0, side, side // 6):
        pen.line((x, floor + 26, x - side // 14, side), (148, 148, 154), 5)


BACKDROP_PAINTERS: dict[str, Callable[[ImageDraw.ImageDraw, Colour, int, int], None]] = {
    "room": _room,
    "meadow": _meadow,
    "beach": _beach,
    "night": _night,
    "studio": _studio,
    "street": _street,
}


def draw_sash(extra: Extra, body: Image.Image, kind: str, size: int, reduction: int = 1) -> Image.Image:
    """Return a sash with its pattern around a subject. `body` has a margin around the subject."""
    margin = (body.width - size) // 2
    top, bottom = (y * size + margin for y in FITS[kind].waist)
    own = COLOURS[extra.colour]
    band = Image.new("RGB", body.size, own)
    pen = ImageDraw.Draw(band)
    light = mix_colours(own, _WHITE, 0.72)
    step = (bottom - top) / 2
    for at in range(-4, 12):
        x = margin + 2 * step * at
        if extra.pattern == "striped":
            corners = [(x, bottom), (x + step, bottom), (x + 2 * step, top), (x + step, top)]
            pen.polygon(corners, light)
        for y, left in ((top, x), (top + step, x + step)):
            if extra.pattern == "dotted":
                r, across, down = step * 0.32, left + step / 2, y + step / 2
                pen.ellipse((across - r, down - r, across + r, down + r), light)
            if extra.pattern == "checked":
                pen.rectangle((left, y, left + step, y + step), light)
    for y in (top, bottom):
        pen.line((0, y, body.width, y), INK, max(4 // reduction, size // 70))
    area = Image.new("L", body.size, 0)
    ImageDraw.Draw(area).rectangle((0, top, body.width, bottom), 255)
    alpha = body.getchannel("A")
    # Continue the outline of the body at the sides of the sash.
    reach = max(3, 2 * round(0.02 * size / 2) + 1)
    around = (0, int(top) - reach, body.width, int(bottom) + reach + 1)
    strip = alpha.crop(around)
    rim = ImageChops.subtract(strip, strip.filter(ImageFilter.MinFilter(reach)))
    band.paste(INK, around[:2], rim)
    return Image.merge("RGBA", (*band.split(), ImageChops.multiply(area, alpha)))


def _add_sticker_border(body: Image.Image, size: int, rim: float) -> Image.Image:
    """Return the subject with a white border around its outline."""
    alpha = body.getchannel("A").filter(ImageFilter.GaussianBlur(size / 36))
    border = alpha.point(lambda value: 255 if value > 14 else 0)
    edge = border.filter(ImageFilter.GaussianBlur(rim)).point(lambda value: 255 if value > 20 else 0)
    made = Image.new("RGBA", body.size, (150, 150, 158, 0))
    made.putalpha(edge)
    made.paste((*_WHITE, 255), (0, 0), border)
    made.alpha_composite(body)
    return made


@lru_cache(maxsize=16)
def draw_container(kind: str, *, behind: bool, reduction: int = 1) -> Image.Image:
    """Return the part of a container that is behind the subject, or the part in front of it, in RGBA."""
    if reduction > 1:
        return draw_container(kind, behind=behind).reduce(reduction)
    layer = Image.new("RGBA", (IMAGE_SIDE, IMAGE_SIDE), (255, 255, 255, 0))
    pen = ImageDraw.Draw(layer)
    width = 5
    wood, glass = (150, 104, 70, 255), (230, 244, 250, 70 if behind else 36)
    if kind == "gift box":
        _draw_gift_box(pen, behind)
    else:
        if kind == "glass dome":
            box: tuple[int, int, int, int] = (164, 200, 604, 860)
            pen.chord(box, 180, 360, glass)
            pen.arc(box, 180, 360, (*INK, 255), width)
            pen.rectangle((164, 530, 604, 640), glass)
            for x in (164, 604):
                pen.line((x, 528, x, 640), (*INK, 255), width)
        elif kind == "snow globe":
            pen.ellipse((150, 178, 618, 646), glass, (*INK, 255), width)
        elif kind == "jar":
            pen.rounded_rectangle((176, 250, 592, 656), 60, glass, (*INK, 255), width)
        if not behind:
            if kind == "jar":
                pen.rounded_rectangle((206, 208, 562, 262), 12, (196, 74, 66, 255), (*INK, 255), width)
                for x in range(226, 560, 28):
                    pen.line((x, 216, x, 254), (150, 50, 48, 255), 4)
            else:
                pen.rounded_rectangle((136, 626, 632, 658), 12, wood, (*INK, 255), width)
            pen.arc((196, 236, 420, 620), 175, 235, (255, 255, 255, 200), 14)
            if kind == "snow globe":
                chance = np.random.default_rng(3)
                for x, y in chance.uniform((190, 230), (580, 600), (46, 2)):
                    if (x - 384) ** 2 + (y - 412) ** 2 < 205**2:
                        pen.ellipse((x - 5, y - 5, x + 5, y + 5), (255, 255, 255, 235))
    return layer


def _draw_gift_box(pen: ImageDraw.ImageDraw, behind: bool) -> None:
    """Draw a box with a bow and a window in front."""
    card, ribbon = (226, 186, 132, 255), (196, 60, 70, 255)
    if behind:
        pen.rectangle((150, 236, 618, 656), card, (*INK, 255), 5)
        pen.rectangle((190, 286, 578, 636), (250, 246, 234, 255), (*INK, 255), 4)
        return
    pen.rectangle((138, 212, 630, 256), (240, 204, 152, 255), (*INK, 255), 5)
    pen.rectangle((366, 214, 402, 254), ribbon)
    for side in (-1, 1):
        points = [(384, 212), (384 + side * 76, 168), (384 + side * 84, 214)]
        pen.polygon(points, ribbon, (*INK, 255))
        pen.line([*points, points[0]], (*INK, 255), 5)
    pen.ellipse((366, 190, 402, 222), ribbon, (*INK, 255), 5)


@lru_cache(maxsize=8)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def draw_banner(image: Image.Image, words: str) -> None:
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((180, 664, 588, 724), 14, _PAPER, INK, 5)
    pen.text((384, 694), words, INK, _font(40), anchor="mm")


def draw_frame(image: Image.Image, kind: str) -> None:
    pen = ImageDraw.Draw(image)
    last = IMAGE_SIDE - 1
    if kind == "stamp":
        for box in ((0, 0, last, 38), (0, last - 38, last, last), (0, 0, 38, last), (last - 38, 0, last, last)):
            pen.rectangle(box, _PAPER)
        pen.rectangle((38, 38, last - 38, last - 38), outline=INK, width=4)
        for at in range(0, IMAGE_SIDE + 1, 32):
            for x, y in ((at, 0), (at, last), (0, at), (last, at)):
                pen.ellipse((x - 11, y - 11, x + 11, y + 11), (120, 124, 134))
    elif kind == "playing card":
        corner = Image.new("L", (IMAGE_SIDE * 2, IMAGE_SIDE * 2), 255)
        inner = (64, 64, 2 * IMAGE_SIDE - 64, 2 * IMAGE_SIDE - 64)
        ImageDraw.Draw(corner).rounded_rectangle(inner, 70, 0)
        image.paste(Image.new("RGB", image.size, _WHITE), (0, 0), corner.reduce(2))
        pen.rounded_rectangle((32, 32, last - 32, last - 32), 35, outline=INK, width=4)
        for x, y in ((16, 16), (last - 16, 16), (16, last - 16), (last - 16, last - 16)):
            pen.polygon([(x, y - 12), (x + 9, y), (x, y + 12), (x - 9, y)], (206, 48, 56))
    elif kind == "film strip":
        for top in (0, last - 42):
            pen.rectangle((0, top, last, top + 42), (28, 28, 34))
            for x in range(16, IMAGE_SIDE, 64):
                pen.rounded_rectangle((x, top + 10, x + 32, top + 32), 5, (236, 236, 230))


def _sketch(image: Image.Image) -> Image.Image:
    """Turn an image into grey lines on paper, with light hatching in dark areas."""
    grey = np.asarray(image.convert("L")).astype(np.float32)
    lines = np.asarray(_edges(image)).astype(np.float32)
    hatch = _hatch(image.size) & (grey < 150)
    tone = 250 - 0.22 * (255 - grey) - 0.75 * np.minimum(lines, 160) - 46 * hatch
    tone = np.where(grey < 70, 64 + 0.5 * grey, tone)
    return _tint(tone, (0, 0, 0), (255, 251, 242))


def _edges(image: Image.Image) -> Image.Image:
    return image.convert("L").filter(ImageFilter.FIND_EDGES)


@lru_cache(maxsize=4)
def _hatch(size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return a mask of slanted lines."""
    hatch: NDArray[np.bool_] = np.add.outer(np.arange(size[1]), np.arange(size[0])) % 9 < 2
    return hatch


def _tint(tone: Pixels, dark: Colour, light: Colour) -> Image.Image:
    """Map greys from 0 to 255 to colours between `dark` and `light`."""
    grey = _to_image(tone)
    channels = zip(dark, light, strict=True)
    tables = [[round(low + (high - low) * n / 255) for n in range(256)] for low, high in channels]
    return Image.merge("RGB", [grey.point(table) for table in tables])


def _pixelate(image: Image.Image) -> Image.Image:
    """Turn an image into blocks of eight pixels, in few colours."""
    few = image.reduce(8).point([min(255, 24 * round(n / 24)) for n in range(256)] * 3)
    return few.resize(image.size, Image.Resampling.NEAREST)


def _posterise(image: Image.Image) -> Image.Image:
    """Turn an image into few, flat, saturated colours."""
    pixels = np.asarray(image.filter(ImageFilter.MedianFilter(3))).astype(np.float32)
    grey = (pixels[..., 0] + pixels[..., 1] + pixels[..., 2])[..., None] / np.float32(3)
    strong = _to_image(grey + np.float32(1.35) * (pixels - grey))
    return strong.point([round(63.75 * round(n / 63.75)) for n in range(256)] * 3)


def _blueprint(image: Image.Image) -> Image.Image:
    """Turn an image into white lines on blue, with a grid."""
    lines = np.minimum(np.asarray(_edges(image)).astype(np.float32) * 2.4, 255)
    lines[::48] = np.maximum(lines[::48], 41)
    lines[:, ::48] = np.maximum(lines[:, ::48], 41)
    return _tint(lines, (34, 78, 150), (236, 244, 255))


STYLE_FILTERS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "painting": lambda image: image,
    "pencil sketch": _sketch,
    "pixel art": _pixelate,
    "flat poster": _posterise,
    "blueprint": _blueprint,
}


def _to_image(pixels: NDArray[np.floating[Any]]) -> Image.Image:
    return Image.fromarray(np.clip(np.round(pixels), 0, 255).astype(np.uint8))


def _add_noise(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    grains = rng.normal(0, 26, (IMAGE_SIDE, IMAGE_SIDE, 3)).astype(np.float32)
    return _to_image(np.asarray(image).astype(np.float32) + grains)


def _add_banding(image: Image.Image) -> Image.Image:
    pixels = np.asarray(image).astype(np.float32)
    pixels[(np.arange(IMAGE_SIDE) // BAND_ROWS) % 2 == 1] *= BAND_BRIGHTNESS
    return _to_image(pixels)


def _break_outlines(body: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Add gaps to the outlines, filled with the colours around them."""
    pixels = np.asarray(body).astype(np.float32)
    ink = (np.abs(pixels[..., :3] - np.array(INK)).max(axis=-1) < 40) & (pixels[..., 3] > 128)
    places = np.argwhere(ink)
    gaps = Image.new("L", body.size, 0)
    pen = ImageDraw.Draw(gaps)
    radius = max(7, body.width // 36)
    for y, x in places[rng.integers(0, len(places), 26)]:
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), 255)
    weight = ~ink & (pixels[..., 3] >= 128)
    counted = np.dstack([pixels[..., :3] * weight[..., None], 255.0 * weight]).astype(np.uint8)
    spread = Image.fromarray(counted).filter(ImageFilter.BoxBlur(9))  # means over 19 pixels
    around = np.asarray(spread).astype(np.float32)
    hole = (np.asarray(gaps) > 0) & ink
    pixels[hole, :3] = 255 * around[hole, :3] / np.maximum(around[hole, 3:], 1)
    return _to_image(pixels)


def _cut_off_side(body: Image.Image, size: int, margin: int, rng: np.random.Generator) -> Image.Image:
    """Remove one side of the subject."""
    pixels = np.asarray(body).copy()
    if rng.random() < 0.5:
        pixels[:, margin + round(0.7 * size) :, 3] = 0
    else:
        pixels[:, : margin + round(0.3 * size), 3] = 0
    return Image.fromarray(pixels)


def _add_double(body: Image.Image, size: int) -> Image.Image:
    """Add a half-transparent copy of the subject, shifted by an offset."""
    ghost = body.copy()
    ghost.putalpha(body.getchannel("A").point(lambda value: value * 6 // 10))
    right, up = round(DOUBLE_OFFSET[0] * size), -round(DOUBLE_OFFSET[1] * size)
    made = body.copy()
    made.alpha_composite(ghost.crop((0, up, body.width - right, body.height)), (right, 0))
    return made
