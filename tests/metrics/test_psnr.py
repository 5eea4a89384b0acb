"""Tests of PSNR: it equals scikit-image's, ignores the mask's region, and has a value for unchanged images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.metric_inputs import NotMeasurable
from tests.metrics.evaluating import look
from tests.metrics.images import noise, slope

PSNR = open_image_metrics(["psnr"], {})["psnr"]


def psnr(folder: Path, source: Image.Image, edit: Image.Image, mask: Image.Image | None = None) -> float:
    source.save(folder / "source.png")
    edit.save(folder / "edit.png")
    if mask is not None:
        mask.save(folder / "mask.png")
    sample = Sample("s", "", folder / "source.png", mask=folder / "mask.png" if mask else None)
    return look(PSNR, sample, folder / "edit.png")["psnr"]


@pytest.mark.parametrize("size", [(1, 1), (13, 29), (301, 17)])
def test_it_is_scikit_images(size: tuple[int, int], tmp_path: Path) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    first, second = slope(size), noise(3, size)
    expected = metrics.peak_signal_noise_ratio(np.asarray(first), np.asarray(second), data_range=255)
    assert psnr(tmp_path, first, second) == pytest.approx(expected, abs=1e-9)


def test_one_level_everywhere_is_48_decibels(tmp_path: Path) -> None:
    first = Image.new("RGB", (20, 20), (100, 100, 100))
    assert psnr(tmp_path, first, Image.new("RGB", (20, 20), (101, 101, 101))) == pytest.approx(48.1308, abs=1e-4)
    assert psnr(tmp_path, first, first) == 100.0


def test_the_masked_region_does_not_count(tmp_path: Path) -> None:
    first = noise(1, (20, 20))
    edit, mask = first.copy(), Image.new("L", (20, 20))
    edit.paste((0, 255, 0), (0, 0, 10, 20))
    mask.paste(255, (0, 0, 10, 20))
    assert psnr(tmp_path, first, edit) < 20
    assert psnr(tmp_path, first, edit, mask) == 100.0
    with pytest.raises(NotMeasurable):
        psnr(tmp_path, first, edit, Image.new("L", (20, 20), 255))
