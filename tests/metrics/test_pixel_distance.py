"""Tests of L1 and L2 to the source, with and without masks, compared with NumPy and torchmetrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.metric_inputs import NotMeasurable
from tests.metrics.evaluating import look
from tests.metrics.images import ODD_SIZES, noise, real_images, slope

GAUGES = open_image_metrics(["l1_src", "l2_src"], {})


def measured(sample: Sample, edit: Path) -> tuple[float, float]:
    first, second = (look(gauge, sample, edit)[name] for name, gauge in GAUGES.items())
    return first, second


def plain(source: Image.Image, edit: Image.Image, mask: Image.Image | None) -> tuple[float, float]:
    a, b = (np.asarray(image, dtype=np.float64) / 255 for image in (source, edit))
    kept = np.ones(a.shape[:2]) if mask is None else np.asarray(mask, dtype=np.float64) <= 128
    weight = np.repeat(kept[..., None], 3, axis=2).astype(np.float64)
    return (float((np.abs(a - b) * weight).sum() / weight.sum()), float(((a - b) ** 2 * weight).sum() / weight.sum()))


@pytest.mark.parametrize("size", ODD_SIZES)
def test_without_a_mask(size: tuple[int, int], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional")
    source, edit = noise(1, size), slope(size)
    source.save(tmp_path / "source.png")
    edit.save(tmp_path / "edit.png")
    found = measured(Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    assert found == pytest.approx(plain(source, edit, None), abs=1e-12)
    a, b = (torch.tensor(np.asarray(image) / 255.0) for image in (source, edit))
    theirs = functional.mean_absolute_error(a, b), functional.mean_squared_error(a, b)
    assert found == pytest.approx([float(one) for one in theirs], abs=1e-6)


side = st.integers(1, 40)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 9), side, side, st.sampled_from(["L", "1", "RGB", "LA"]))
def test_outside_the_mask(tmp_path: Path, seed: int, width: int, height: int, mode: str) -> None:
    size = (width, height)
    source, edit = noise(seed, size), noise(seed + 1, size)
    mask = noise(seed + 2, size).convert("L").convert(mode)
    for name, image in (("source", source), ("edit", edit), ("mask", mask)):
        image.save(tmp_path / f"{name}.png")
    sample = Sample("s", "", tmp_path / "source.png", mask=tmp_path / "mask.png")
    if (np.asarray(mask.convert("L")) > 128).all():
        with pytest.raises(NotMeasurable, match="covers the whole image"):
            measured(sample, tmp_path / "edit.png")
    else:
        expected = plain(source, edit, mask.convert("L"))
        assert measured(sample, tmp_path / "edit.png") == pytest.approx(expected, abs=1e-12)


def test_real_images(tmp_path: Path) -> None:
    for path in real_images(3):
        with Image.open(path) as opened:
            source = opened.convert("RGB")
        edit = source.rotate(3)
        edit.save(tmp_path / "edit.png")
        mask = Image.new("L", source.size)
        mask.paste(255, (source.width // 3, 0, source.width // 2, source.height))
        mask.save(tmp_path / "mask.png")
        sample = Sample("s", "", path, mask=tmp_path / "mask.png")
        found = measured(sample, tmp_path / "edit.png")
        assert found == pytest.approx(plain(source, edit, mask), abs=1e-12)


def test_sizes_that_differ(tmp_path: Path) -> None:
    source, edit, mask = slope((60, 40)), slope((90, 60)), Image.new("L", (30, 20))
    mask.paste(255, (0, 0, 15, 20))
    for name, image in (("source", source), ("edit", edit), ("mask", mask)):
        image.save(tmp_path / f"{name}.png")
    sample = Sample("s", "", tmp_path / "source.png", mask=tmp_path / "mask.png")
    bicubic = Image.Resampling.BICUBIC
    expected = plain(source, edit.resize((60, 40), bicubic), mask.resize((60, 40), bicubic))
    assert measured(sample, tmp_path / "edit.png") == pytest.approx(expected, abs=1e-12)


def test_alpha_is_laid_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (5, 5), (0, 0, 0, 0)).save(tmp_path / "edit.png")
    Image.new("L", (5, 5), 255).save(tmp_path / "source.png")
    sample = Sample("s", "", tmp_path / "source.png")
    assert measured(sample, tmp_path / "edit.png") == (0.0, 0.0)


def test_without_a_source(tmp_path: Path) -> None:
    for gauge in GAUGES.values():
        with pytest.raises(NotMeasurable, match="no source"):
            look(gauge, Sample("s", ""), tmp_path / "edit.png")
