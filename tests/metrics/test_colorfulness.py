"""Tests of colourfulness in both conventions, compared with NumPy in double precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from tests.metrics.evaluating import look
from tests.metrics.images import ODD_SIZES, noise, real_images, slope

(GAUGE,) = open_image_metrics(["colorfulness"], {}).values()


def plain(image: Image.Image, *, signed: bool) -> float:
    red, green, blue = np.moveaxis(np.asarray(image, dtype=np.float64), -1, 0)
    if not signed:
        red, green, blue = red / 255, green / 255, blue / 255
    rg, yb = red - green, 0.5 * (red + green) - blue
    if not signed:
        rg, yb = np.abs(rg), np.abs(yb)
    spread = np.sqrt(np.std(rg) ** 2 + np.std(yb) ** 2)
    return float(spread + 0.3 * np.sqrt(np.mean(rg) ** 2 + np.mean(yb) ** 2))


def both(image: Image.Image) -> dict[str, Any]:
    return {
        "colorfulness": pytest.approx(plain(image, signed=False), abs=1e-9),
        "colorfulness_signed": pytest.approx(plain(image, signed=True), abs=1e-7),
    }


@pytest.mark.parametrize("size", ODD_SIZES)
def test_it_equals_the_formula(size: tuple[int, int], tmp_path: Path) -> None:
    for image in (noise(1, size), slope(size)):
        image.save(tmp_path / "edit.png")
        assert look(GAUGE, Sample("s", ""), tmp_path / "edit.png") == both(image)


def test_real_images() -> None:
    for path in real_images(3):
        with Image.open(path) as opened:
            image = opened.convert("RGB")
        assert look(GAUGE, Sample("s", ""), path) == both(image)


def test_no_image_leaves_the_cards_range(tmp_path: Path) -> None:
    ranges = {metric.name: (metric.low, metric.high) for metric in GAUGE.info.values}
    found = []
    for red in range(0, 1001, 4):
        pixels = np.full((1, 1000, 3), (0, 255, 255), dtype=np.uint8)
        pixels[:, :red] = (255, 0, 0)
        Image.fromarray(pixels).save(tmp_path / "edit.png")
        found.append(look(GAUGE, Sample("s", ""), tmp_path / "edit.png"))
    for values in found:
        assert all(low <= values[name] <= high for name, (low, high) in ranges.items())
    best = max(values["colorfulness_signed"] for values in found)
    assert best == pytest.approx(ranges["colorfulness_signed"][1], abs=0.01)


def test_grey_has_none(tmp_path: Path) -> None:
    for mode in ("L", "LA", "1"):
        noise(1, (20, 30)).convert("L").convert(mode).save(tmp_path / "edit.png")
        found = look(GAUGE, Sample("s", ""), tmp_path / "edit.png")
        assert found == {"colorfulness": 0.0, "colorfulness_signed": 0.0}


def test_an_edit_of_another_size_is_scaled_first(tmp_path: Path) -> None:
    image = slope((60, 40))
    image.save(tmp_path / "edit.png")
    Image.new("L", (30, 20)).save(tmp_path / "source.png")
    found = look(GAUGE, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    assert found == both(image.resize((30, 20), Image.Resampling.BICUBIC))
