"""Prepare an image for recognition: detect its style, remove banding, and halve its size.

Recognition compares colours, in styles that have them, and lines, which all styles have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from creval.touchstone.render import BAND_BRIGHTNESS, BAND_ROWS, STYLE_FILTERS, draw_backdrop
from creval.touchstone.scene import BACKGROUNDS, COLOURLESS_STYLES, IMAGE_SIDE
from creval.touchstone.sprites import COLOURS, Pixels

Mask = NDArray[np.bool_]
HALF_SIDE = IMAGE_SIDE // 2
BLOCK_SIDE = 4
"""The side of a block of pixel art, at half size."""
_NOISE_THRESHOLD = 8.0  # standard deviation of pixels from their neighbours
_BANDING_THRESHOLD = 0.06
_SURROUNDINGS_RADIUS = 6  # of the neighbourhood of a pixel


@dataclass(frozen=True)
class NormalisedImage:
    """An image at half size, with its style.

    `lines` is how dark pixels are against their neighbourhood. `blocks` are means over 8 x 8 pixels of the full image.
    """

    style: str
    has_noise: bool
    has_banding: bool
    colours: Pixels
    lines: Pixels
    blocks: Pixels

    @property
    def has_visible_colours(self) -> bool:
        return self.style not in COLOURLESS_STYLES


def normalise_image(image: Image.Image) -> NormalisedImage:
    """Prepare an image for recognition."""
    if image.size != (IMAGE_SIDE, IMAGE_SIDE):
        image = image.resize((IMAGE_SIDE, IMAGE_SIDE), Image.Resampling.LANCZOS)
    image = image.convert("RGB")
    pixels = np.asarray(image)
    banded = _banding_strength(pixels) > _BANDING_THRESHOLD
    if banded:
        odd = (np.arange(IMAGE_SIDE) // BAND_ROWS) % 2 == 1
        pixels = pixels.copy()
        pixels[odd] = np.minimum(np.round(pixels[odd] / BAND_BRIGHTNESS), 255)
        image = Image.fromarray(pixels)
    noise = _noise_level(pixels[..., 1])
    blocks, colours = (np.asarray(image.reduce(n)).astype(np.float32) for n in (8, 2))
    style = _detect_style(image, blocks, noise)
    return NormalisedImage(style, noise > _NOISE_THRESHOLD, banded, colours, extract_lines(colours, style), blocks)


def channel_mean(colours: Pixels) -> Pixels:
    """Return the mean of three channels. NumPy's `mean` takes ten times as long for such a short axis."""
    return (colours[..., 0] + colours[..., 1] + colours[..., 2]) / np.float32(3)


def channel_max(colours: NDArray[Any]) -> NDArray[Any]:
    """Return the maximum of three channels."""
    most: NDArray[Any] = np.maximum(np.maximum(colours[..., 0], colours[..., 1]), colours[..., 2])
    return most


def block_means(pixels: Pixels, side: int) -> Pixels:
    """Return the means over squares of pixels."""
    found: Pixels = np.zeros(1, dtype=np.float32)
    for across in range(side):
        found = found + pixels[:, across::side]
    down = found[::side]
    for at in range(1, side):
        down = down + found[at::side]
    return down / np.float32(side * side)


def _banding_strength(pixels: NDArray[np.uint8]) -> float:
    """Return how much darker every second band of rows is than the one before it, as a difference of logarithms."""
    rows = np.log(pixels.reshape(IMAGE_SIDE, -1).mean(axis=1) + 1)
    edges = np.arange(BAND_ROWS, IMAGE_SIDE - 3, BAND_ROWS)
    steps = sum(rows[edges - k] - rows[edges + k - 1] for k in (1, 2, 3)) / 3
    sign = np.where((edges // BAND_ROWS) % 2 == 1, 1, -1)
    return float(np.median(steps[sign > 0]) / 2 - np.median(steps[sign < 0]) / 2)


def _noise_level(channel: NDArray[np.uint8]) -> float:
    """Return the standard deviation of pixels from their neighbours, estimated by a median to ignore drawn lines."""
    above, here, below = (channel[at : IMAGE_SIDE - 2 + at : 5].astype(np.float32) for at in range(3))
    bend = above - 2 * here + below
    bend = bend[:, :-2] - 2 * bend[:, 1:-1] + bend[:, 2:]
    return float(np.median(np.abs(bend)) / 0.6745 / 6)


def _detect_style(image: Image.Image, blocks: Pixels, noise: float) -> str:
    coarse = block_means(blocks, 4)
    red, green, blue = coarse[..., 0], coarse[..., 1], coarse[..., 2]
    if np.abs(red * 0.985 - green).mean() + np.abs(red * 0.95 - blue).mean() < 4:
        return "pencil sketch"
    share = (red - 34) / 202
    if np.abs(78 + 166 * share - green).mean() + np.abs(150 + 105 * share - blue).mean() < 8:
        return "blueprint"
    if _is_in_blocks(np.asarray(image.getchannel("G")).astype(np.float32), noise):
        return "pixel art"
    fine = np.asarray(image.reduce(4)).astype(np.float32)
    levels = np.round(fine / 63.75) * 63.75
    if (np.abs(fine - levels) < 9 + noise / 5).mean() > 0.6:
        return "flat poster"
    return "painting"


def _is_in_blocks(channel: Pixels, noise: float) -> bool:
    """Return whether pixels change only at the borders of 8-pixel blocks, as in pixel art."""
    inner = channel[64 : IMAGE_SIDE - 63, 64 : IMAGE_SIDE - 63]  # frames do not cover this part
    for pixels in (inner, inner.T):
        rows = pixels[:-1].reshape(-1, 8, len(inner)).mean(axis=1)
        steps = np.square(np.diff(rows, axis=1))
        phases = steps.reshape(len(rows), -1, 8).mean(axis=(0, 1))
        inside, border = np.delete(phases, 7).mean(), phases[7]
        if inside - noise**2 / 4 > 0.2 * border or inside > 0.6 * border:
            return False
    return True


def extract_lines(colours: Pixels, style: str) -> Pixels:
    """Return how much darker each pixel is than its neighbourhood. In a blueprint: how much lighter."""
    bright = colours[..., 1] if style == "blueprint" else 255 - channel_max(colours)
    image = Image.fromarray(np.clip(bright, 0, 255).astype(np.uint8))
    around = np.asarray(image.filter(ImageFilter.BoxBlur(_SURROUNDINGS_RADIUS))).astype(np.float32)
    found: Pixels = np.maximum(np.asarray(image).astype(np.float32) - around, 0)
    return found


def lines_of_drawing(make: Callable[[int], Image.Image], style: str) -> Pixels:
    """Return the lines, at half size, of a drawing in a style.

    `make` draws it and is called with a reduction factor: 1 for styles that draw lines themselves, otherwise 2. The
    drawing must start at the border of a block of pixels.
    """
    if style in COLOURLESS_STYLES:
        colours = np.asarray(STYLE_FILTERS[style](make(1)).reduce(2)).astype(np.float32)
    else:
        colours = apply_style_colours(np.asarray(make(2)).astype(np.float32), style)
    return extract_lines(colours, style)


def apply_style_colours(colours: Pixels, style: str) -> Pixels:
    """Apply the effect of a style on colours, at half size. Its effect on lines is left out."""
    if style == "flat poster":
        grey = channel_mean(colours)[..., None]
        strong = np.clip(grey + 1.35 * (colours - grey), 0, 255)
        few: Pixels = (np.round(strong / 63.75) * 63.75).astype(np.float32)
        return few
    if style == "pixel art":
        few = np.clip(np.round(block_means(colours, BLOCK_SIDE) / 24) * 24, 0, 255)
        return few.repeat(BLOCK_SIDE, axis=0).repeat(BLOCK_SIDE, axis=1)
    return colours


@lru_cache(maxsize=5)
def _styled_backdrops(style: str) -> tuple[list[tuple[str, str]], Pixels]:
    """Return the names of all backdrops, and their images in a style.

    The images are means over 8 x 8 pixels.
    """
    coloured = style not in COLOURLESS_STYLES
    tints = list(COLOURS) if coloured else ["yellow", "blue"]
    names = [(background, tint) for background in BACKGROUNDS for tint in tints]
    if not coloured:
        drawn = [STYLE_FILTERS[style](draw_backdrop(*name)).reduce(8) for name in names]
        return names, np.stack([np.asarray(image).astype(np.float32) for image in drawn])
    if style == "painting":
        whole = [np.asarray(draw_backdrop(*name).reduce(8)) for name in names]
        return names, np.stack(whole).astype(np.float32)
    halves = (np.asarray(draw_backdrop(*name, 2)).astype(np.float32) for name in names)
    return names, np.stack([block_means(apply_style_colours(half, style), 4) for half in halves])


def detect_background(observed: NormalisedImage) -> tuple[str, str]:
    """Return the background and its colour that match the image best."""
    names, drawn = _styled_backdrops(observed.style)
    inner = np.s_[:, 6:-6:2, 6:-6:2, 1] if not observed.has_visible_colours else np.s_[:, 6:-6:2, 6:-6:2]
    apart = drawn[inner] - observed.blocks[inner[1:]]
    if not observed.has_visible_colours:  # the brightness of the colour is unknown
        apart = apart - np.median(apart, axis=(1, 2), keepdims=True)
    else:
        apart = channel_max(np.abs(apart))
    error = np.minimum(np.abs(apart), 30).mean(axis=(1, 2))
    return names[int(error.argmin())]
