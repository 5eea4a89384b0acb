"""Sprites: objects painted part by part, shaded, in a material, on a transparent background."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from creval.touchstone.shapes import ShapePart, build_parts

Colour = tuple[int, int, int]
Pixels = NDArray[np.float32]
COLOURS: dict[str, Colour] = {
    "red": (212, 60, 54),
    "orange": (238, 140, 46),
    "yellow": (244, 208, 66),
    "green": (76, 164, 88),
    "blue": (62, 116, 204),
    "purple": (138, 84, 182),
    "pink": (240, 134, 178),
}
"""Colours of objects."""
INK: Colour = (38, 34, 46)
_TONES: dict[str, Colour] = {
    "pale": (246, 238, 216),
    "white": (252, 252, 250),
    "dark": (58, 54, 66),
    "glass": (176, 214, 232),
    "bark": (134, 94, 64),
    "flame": (250, 176, 60),
}
_MATERIAL_COLOURS: dict[str, Colour] = {
    "wood": (178, 124, 74),
    "gold": (230, 182, 62),
    "stone": (150, 150, 154),
    "ice": (178, 222, 240),
}
MATERIALS = ("plain", *_MATERIAL_COLOURS, "wool")
"""Materials of objects. `plain` and `wool` keep the object's colour."""
_SUPERSAMPLING = 2  # factor by which objects are painted larger than needed
_OUTLINE_SHARE = 0.014  # width of the outline, relative to the object's size


def draw_sprite(
    kind: str,
    colour: str,
    size: int,
    material: str = "plain",
    *,
    margin: int = 0,
    worn_by: str = "",
    reduction: int = 1,
) -> Image.Image:
    """Return an object in RGBA, `size` pixels wide and high, with a margin around it.

    With `worn_by`, `kind` is an extra at its position on an object of that kind. `reduction` makes lines thinner, for
    a drawing that is smaller by this factor.
    """
    made, left, top = _paint_sprite(kind, colour, size, material, worn_by, reduction)
    whole = Image.new("RGBA", (size + 2 * margin, size + 2 * margin), (*INK, 0))
    whole.paste(made, (left + margin, top + margin))
    return whole


@lru_cache(maxsize=256)
def _paint_sprite(
    kind: str, colour: str, size: int, material: str, worn_by: str, reduction: int
) -> tuple[Image.Image, int, int]:
    """Return the image of an object without a margin, and the position of its top left corner.

    The position is relative to the object's square.
    """
    parts = build_parts(kind, worn_by)
    width = max(2 * _SUPERSAMPLING // reduction, round(_OUTLINE_SHARE * size * _SUPERSAMPLING))
    left, top, right, bottom = _bounds(parts, size, width)
    flat = Image.new("RGBA", ((right - left) * _SUPERSAMPLING, (bottom - top) * _SUPERSAMPLING), (*INK, 0))
    pen = ImageDraw.Draw(flat)
    for part in parts:
        points = [
            ((_inset(x) * size - left) * _SUPERSAMPLING, (_inset(y) * size - top) * _SUPERSAMPLING)
            for x, y in part.points
        ]
        _paint(pen, part, points, _tone(part.tone, COLOURS[colour], material), size, width)
    return _shade(flat.reduce(_SUPERSAMPLING), material, size, left, top), left, top


def _bounds(parts: Sequence[ShapePart], size: int, width: int) -> tuple[int, int, int, int]:
    """Return the bounding box of parts with their outlines, in pixels."""
    rim = max(part.line for part in parts) * size / 2 + 2 * width / _SUPERSAMPLING + 2
    xs = [_inset(x) * size for part in parts for x, _ in part.points]
    ys = [_inset(y) * size for part in parts for _, y in part.points]
    left, top = math.floor(min(xs) - rim), math.floor(min(ys) - rim)
    return left, top, math.ceil(max(xs) + rim), math.ceil(max(ys) + rim)


def _tone(tone: str, own: Colour, material: str) -> Colour:
    """Return the colour of a part. In most materials, all parts have the material's colour."""
    if material in _MATERIAL_COLOURS:
        own = _MATERIAL_COLOURS[material]
        if tone in ("pale", "white", "glass", "bark", "flame"):
            tone = "second"
    if tone == "main":
        return own
    if tone == "second":
        return mix_colours(own, (255, 255, 255), 0.32)
    if tone == "deep":
        return mix_colours(own, INK, 0.28)
    return _TONES[tone]


def mix_colours(one: Colour, other: Colour, share: float) -> Colour:
    r, g, b = (round(a + (c - a) * share) for a, c in zip(one, other, strict=True))
    return r, g, b


def _paint(
    pen: ImageDraw.ImageDraw, part: ShapePart, points: list[tuple[float, float]], colour: Colour, size: int, width: int
) -> None:
    if part.line:
        across = round(part.line * size * _SUPERSAMPLING)
        _line(pen, points, INK, across + 2 * width)
        _line(pen, points, colour, across)
        return
    pen.polygon(points, fill=(*colour, 255))
    _line(pen, [*points, points[0], points[1]], INK, width)


def _inset(share: float) -> float:
    """Shrink a coordinate in the unit square, to leave room for outlines."""
    return 0.03 + 0.94 * share


def _line(pen: ImageDraw.ImageDraw, points: list[tuple[float, float]], colour: Colour, width: int) -> None:
    pen.line(points, fill=(*colour, 255), width=width, joint="curve")
    radius = width / 2
    for x, y in (points[0], points[-1]):
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(*colour, 255))


def _shade(flat: Image.Image, material: str, size: int, left: int, top: int) -> Image.Image:
    """Add light from the top left, and the surface of the material."""
    pixels = np.asarray(flat).astype(np.float32)
    rows, columns = np.mgrid[: flat.height, : flat.width].astype(np.float32)
    rows, columns = (rows + top) / size, (columns + left) / size
    light = _light(flat.getchannel("A").tobytes(), flat.size, size, shiny=material == "gold")
    light = light * (1.05 - 0.12 * rows)
    colours = _surface(pixels[..., :3] * light[..., None], rows, columns, material)
    ink = _is_ink(pixels[..., :3])
    colours[ink] = pixels[ink, :3]
    made = np.empty(pixels.shape, dtype=np.uint8)
    made[..., :3] = np.clip(colours, 0, 255)
    made[..., 3] = pixels[..., 3]
    return Image.fromarray(made)


@lru_cache(maxsize=32)
def _light(alpha: bytes, shape: tuple[int, int], size: int, *, shiny: bool) -> Pixels:
    """Return the brightness factor of each pixel. It depends on the object's outline only."""
    outline = np.frombuffer(alpha, dtype=np.uint8).reshape(shape[::-1])
    soft = _box_blur(outline.astype(np.float64) / 255, max(1, size // 16))
    slope: Pixels = np.add(*np.gradient(soft))
    light: Pixels = 1 + slope * np.float32(size * (0.26 if shiny else 0.16))
    return np.clip(light, 0.72, 1.22)


def _box_blur(values: NDArray[np.float64], radius: int) -> Pixels:
    """Return means over squares, applied twice. Unlike Pillow's blur, this does not round to whole numbers."""
    for axis in (0, 1, 0, 1):
        wide = np.pad(values, [(radius + 1, radius) if a == axis else (0, 0) for a in (0, 1)])
        sums = np.cumsum(wide, axis=axis)
        length = values.shape[axis]
        last = np.take(sums, np.arange(length) + 2 * radius + 1, axis=axis)
        values = (last - np.take(sums, np.arange(length), axis=axis)) / (2 * radius + 1)
    return values.astype(np.float32)


def _is_ink(colours: Pixels) -> NDArray[np.bool_]:
    red, green, blue = (np.abs(colours[..., n] - np.float32(INK[n])) for n in range(3))
    dark: NDArray[np.bool_] = np.maximum(np.maximum(red, green), blue) < 12
    return dark


def _surface(colours: Pixels, rows: Pixels, columns: Pixels, material: str) -> Pixels:
    """Add the texture of a material: grain, shine, specks, facets or stitches."""
    if material == "wood":
        grain = np.sin(46 * (columns + 0.05 * np.sin(9 * rows) + 0.02 * np.sin(31 * rows)))
        colours = colours * (1 + 0.16 * grain[..., None]).astype(np.float32)
    elif material == "gold":
        across = rows + columns
        shine = 70 * np.exp(-(((across - 0.72) / 0.11) ** 2))
        colours = colours + (shine + 45 * np.exp(-(((across - 1.2) / 0.06) ** 2)))[..., None]
    elif material == "stone":
        grains = np.random.default_rng(5).normal(0, 15, (64, 64)).astype(np.float32)
        down, across = ((place * 64).astype(int) % 64 for place in (rows[:, 0], columns[0]))
        colours = colours + grains[down][:, across][..., None]
    elif material == "ice":
        facets = np.abs(((rows + columns * 1.7) * 6) % 1 - 0.5) * 2
        colours = colours + ((facets > 0.8) * np.float32(26))[..., None]
    elif material == "wool":
        knit = np.sin(rows * 150) * np.sin(columns * 110 + 1.6 * np.sign(np.sin(rows * 75)))
        colours = colours * (1 + 0.17 * knit[..., None]).astype(np.float32)
    return colours
