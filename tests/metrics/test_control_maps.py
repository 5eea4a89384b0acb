"""Tests of edges and grey values, compared with a plain NumPy implementation of Canny's steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.control_maps import canny_edges
from creval.metrics.metric_inputs import NotMeasurable
from tests.metrics.evaluating import look
from tests.metrics.images import ODD_SIZES, noise, real_images, slope

GAUGES = open_image_metrics(["canny", "grey"], {})


def plain_canny(pixels: NDArray[np.uint8], low: int = 100, high: int = 200) -> NDArray[np.uint8]:
    """Return Canny's edges.

    Takes Sobel gradients in the channel where they are largest and thins them along their direction. Pixels above
    `high` are edges, and so are pixels above `low` that are connected to them.
    """
    wide = np.pad(pixels.astype(np.int64), ((1, 1), (1, 1), (0, 0)), mode="edge")
    height, width = pixels.shape[:2]

    def at(dy: int, dx: int) -> NDArray[np.int64]:
        return wide[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1)
    down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1)
    size = np.abs(across) + np.abs(down)
    best = size.argmax(axis=2)[..., None]
    across, down, size = (np.take_along_axis(of, best, axis=2)[..., 0] for of in (across, down, size))
    padded = np.pad(size, 1)
    strong: list[tuple[int, int]] = []
    weak: set[tuple[int, int]] = set()
    for y in range(height):
        for x in range(width):
            here, gx, gy = size[y, x], across[y, x], down[y, x]
            if here <= low:
                continue

            def near(dy: int, dx: int, y: int = y, x: int = x) -> int:
                return int(padded[1 + y + dy, 1 + x + dx])

            # Directions in steps of 45 degrees, as tan 22.5 = 13573 / 2^15 divides them.
            steep, flat = abs(gx) * 13573, abs(gy) << 15
            if flat < steep:
                kept = here > near(0, -1) and here >= near(0, 1)
            elif flat > steep + (abs(gx) << 16):
                kept = here > near(-1, 0) and here >= near(1, 0)
            else:
                side = -1 if (gx < 0) != (gy < 0) else 1
                kept = here > near(-1, -side) and here > near(1, side)
            if kept and here > high:
                strong.append((y, x))
            elif kept:
                weak.add((y, x))
    found = np.zeros((height, width), dtype=np.uint8)
    while strong:
        y, x = strong.pop()
        found[y, x] = 255
        for spot in [(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]:
            if spot in weak:
                weak.discard(spot)
                strong.append(spot)
    return found


def grey(image: Image.Image) -> NDArray[np.float64]:
    """Return ITU-R 601 luma in integers, as in Pillow."""
    red, green, blue = np.moveaxis(np.asarray(image, dtype=np.int64), -1, 0)
    weighted = (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16
    return np.asarray(weighted, dtype=np.float64)


def written(tmp_path: Path, source: Image.Image, edit: Image.Image) -> tuple[Sample, Path]:
    source.save(tmp_path / "source.png")
    edit.save(tmp_path / "edit.png")
    return Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png"


@pytest.mark.parametrize("size", ODD_SIZES)
def test_both_equal_the_formula(size: tuple[int, int], tmp_path: Path) -> None:
    for source, edit in ((noise(1, size), slope(size)), (slope(size), noise(2, size))):
        pair = written(tmp_path, source, edit)
        pixels = np.asarray(edit)
        assert np.array_equal(canny_edges(pixels), plain_canny(pixels))
        expected = np.abs(plain_canny(pixels) - grey(source)).mean() / 255
        assert look(GAUGES["canny"], *pair) == {"canny": pytest.approx(expected, abs=1e-12)}
        expected = np.abs(grey(edit) - grey(source)).mean() / 255
        assert look(GAUGES["grey"], *pair) == {"grey": pytest.approx(expected, abs=1e-12)}


def test_real_images(tmp_path: Path) -> None:
    for path in real_images(2):
        with Image.open(path) as opened:
            edit = opened.convert("RGB")
        edit.thumbnail((160, 160))
        pair = written(tmp_path, edit.convert("L").convert("RGB"), edit)
        pixels = np.asarray(edit)
        assert plain_canny(pixels).any()
        assert np.array_equal(canny_edges(pixels), plain_canny(pixels))
        assert look(GAUGES["grey"], *pair) == {"grey": 0.0}


def test_an_edit_that_follows_is_at_no_distance(tmp_path: Path) -> None:
    edit = slope((90, 70))
    control = Image.fromarray(canny_edges(np.asarray(edit)))
    assert look(GAUGES["canny"], *written(tmp_path, control, edit)) == {"canny": 0.0}
    nothing = Image.new("L", edit.size)
    far: Any = look(GAUGES["canny"], *written(tmp_path, nothing, edit))["canny"]
    assert far == pytest.approx((np.asarray(control) > 0).mean())


def test_another_size_grey_and_alpha(tmp_path: Path) -> None:
    clear = Image.new("LA", (40, 20), (0, 0))
    pair = written(tmp_path, Image.new("1", (20, 10), 1), clear)
    assert look(GAUGES["grey"], *pair) == {"grey": 0.0}, "transparent pixels become white"
    assert look(GAUGES["canny"], *pair) == {"canny": 1.0}


def test_without_a_control(tmp_path: Path) -> None:
    for gauge in GAUGES.values():
        with pytest.raises(NotMeasurable, match="no source"):
            look(gauge, Sample("s", ""), tmp_path / "edit.png")
