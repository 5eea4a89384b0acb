"""Tests of the detection of unchanged edits."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from creval.metrics.change_detection import _ssim_map, measure_change, recompression_noise


def make_image(seed: int = 1, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """Return shapes on a gradient, with some noise."""
    chance = np.random.default_rng(seed)
    slope = np.add.outer(np.linspace(40, 120, size[1]), np.linspace(0, 90, size[0]))
    pixels = slope[..., None] + chance.normal(0, 4, (size[1], size[0], 3))
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = int(chance.integers(0, size[0])), int(chance.integers(0, size[1]))
        pen.ellipse((x, y, x + 90, y + 60), tuple(chance.integers(0, 255, 3).tolist()))
    return image


def stored(image: Image.Image, kind: str, quality: int) -> Image.Image:
    content = io.BytesIO()
    image.save(content, kind, quality=quality)
    return Image.open(content)


def test_storing_again_resizing_and_shifting_are_no_change() -> None:
    source = make_image()
    noise = recompression_noise(source)
    for edit in (
        source,
        stored(source, "JPEG", 60),
        stored(source, "WEBP", 70),
        source.resize((1024, 768), Image.Resampling.LANCZOS),
        ImageChops.offset(source, 4, 2),
    ):
        assert measure_change(source, edit).is_within(noise)


def test_visible_differences_are_changes() -> None:
    source = make_image()
    noise = recompression_noise(source)
    patch = source.copy()
    ImageDraw.Draw(patch).rectangle((300, 200, 340, 230), (255, 0, 0))
    warm = Image.merge(
        "RGB", [c.point(lambda v, k=k: min(255, v + k)) for c, k in zip(source.split(), (25, 0, 0), strict=True)]
    )
    for edit in (
        patch,
        warm,
        source.filter(ImageFilter.GaussianBlur(4)),
        source.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        make_image(2),
        Image.new("RGB", source.size),
    ):
        assert not measure_change(source, edit).is_within(noise)


def test_similarity_is_ssim() -> None:
    """SSIM equals the formula, computed directly at one pixel."""
    chance = np.random.default_rng(3)
    one, other = (chance.integers(0, 255, (40, 40)).astype(np.float32) for _ in range(2))
    window = np.exp(-np.square(np.arange(-5, 6)) / (2 * 1.5**2))
    window = np.outer(window, window) / window.sum() ** 2
    a, b = (image[10:21, 12:23].astype(float) for image in (one, other))
    means = [(window * x).sum() for x in (a, b)]
    spread = [(window * x * x).sum() - m * m for x, m in zip((a, b), means, strict=True)]
    both = (window * a * b).sum() - means[0] * means[1]
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    expected = ((2 * means[0] * means[1] + c1) * (2 * both + c2)) / (
        (means[0] ** 2 + means[1] ** 2 + c1) * (spread[0] + spread[1] + c2)
    )
    assert _ssim_map(one, other)[15, 17] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("size", [(1, 1), (3, 500), (500, 2)])
def test_images_of_odd_sizes(size: tuple[int, int]) -> None:
    source = Image.new("RGB", size, (10, 200, 30))
    assert measure_change(source, source).is_within(recompression_noise(source))
