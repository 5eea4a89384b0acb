"""Images for tests of metrics: random, drawn, and real ones if they are available."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import shared_data

ODD_SIZES = [(1, 1), (2, 3), (7, 300), (11, 11), (13, 29), (64, 64), (301, 17), (150, 141)]


def noise(seed: int, size: tuple[int, int]) -> Image.Image:
    """Return an image of random pixels."""
    chance = np.random.default_rng(seed)
    return Image.fromarray(chance.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def slope(size: tuple[int, int]) -> Image.Image:
    """Return an image of smooth colours with a rectangle and some noise."""
    across, down = np.meshgrid(np.linspace(0, 1, size[0]), np.linspace(0, 1, size[1]))
    pixels = np.stack([200 * across, 200 * down, 120 * (1 - across)], axis=-1)
    pixels[size[1] // 4 : size[1] // 2, size[0] // 3 : size[0] // 2] = (250, 240, 10)
    pixels += np.random.default_rng(0).normal(0, 3, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def real_images(most: int) -> list[Path]:
    """Return some of the released source images. The test is skipped if they are not available."""
    found = shared_data.creval_images()
    if not found:
        pytest.skip(f"needs the released images in {shared_data.SHARED / 'data'}")
    return found[:most]


def drawn(path: Path, *lines: str) -> Path:
    """Write an image with lines of text to a file."""
    image = Image.new("RGB", (640, 120 * max(1, len(lines))), (240, 235, 220))
    pen = ImageDraw.Draw(image)
    for at, line in enumerate(lines):
        pen.text((30, 30 + 110 * at), line, (20, 20, 60), font=ImageFont.load_default(56))
    image.save(path)
    return path
