"""Tests of SSIM, compared with scikit-image, torchmetrics and plain implementations of the formula."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from creval.core.sample import Sample
from creval.metrics.base import open_image_metrics
from creval.metrics.metric_inputs import NotMeasurable
from creval.metrics.ssim import luma, ms_ssim, ssim
from tests.metrics.evaluating import look
from tests.metrics.images import ODD_SIZES, noise, real_images, slope

metrics = pytest.importorskip("skimage.metrics")
correlate1d = pytest.importorskip("scipy.ndimage").correlate1d


def plain(first: Image.Image, second: Image.Image) -> float:
    """Compute the release's variant: rounded luma, a Gaussian of 11 pixels, whole windows only, and a
    contrast-structure term of at least zero."""
    x, y = (np.round(np.asarray(image, dtype=np.float64) @ [0.299, 0.587, 0.114]) for image in (first, second))
    bell = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    bell /= bell.sum()

    def mean(of: NDArray[np.float64]) -> NDArray[np.float64]:
        blurred = correlate1d(correlate1d(of, bell, axis=0), bell, axis=1)
        return np.asarray(blurred[5:-5, 5:-5])

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mx, my = mean(x), mean(y)
    vx, vy, xy = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    light = (2 * mx * my + c1) / (mx**2 + my**2 + c1)
    structure = np.clip((2 * xy + c2) / (vx + vy + c2), 0, None)
    return float((light * structure).mean())


@pytest.mark.parametrize("size", [size for size in ODD_SIZES if min(size) >= 11])
def test_without_clipping_it_is_scikit_images(size: tuple[int, int]) -> None:
    for first, second in ((noise(1, size), noise(2, size)), (slope(size), noise(3, size))):
        a, b = luma(first), luma(second)
        theirs = metrics.structural_similarity(
            a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255
        )
        assert ssim(a, b, clipped=False) == pytest.approx(theirs, abs=1e-13)


def test_without_clipping_it_is_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    image = pytest.importorskip("torchmetrics.functional.image")
    torch.set_num_threads(1)
    a, b = luma(noise(1, (70, 41))), luma(slope((70, 41)))
    one, other = (torch.tensor(of, dtype=torch.float64)[None, None] for of in (a, b))
    # It pads the image and crops the result again, which leaves the whole windows.
    _, theirs = image.structural_similarity_index_measure(one, other, data_range=255.0, return_full_image=True)
    assert ssim(a, b, clipped=False) == pytest.approx(float(theirs[0, 0, 5:-5, 5:-5].mean()), abs=1e-9)


@pytest.mark.parametrize("size", [size for size in ODD_SIZES if min(size) >= 11])
def test_the_releases_variant(size: tuple[int, int], tmp_path: Path) -> None:
    first, second = slope(size), noise(3, size)
    first.save(tmp_path / "source.png")
    second.save(tmp_path / "edit.png")
    gauge = open_image_metrics(["ssim"], {})["ssim"]
    found = look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    assert found == {"ssim": pytest.approx(plain(first, second), abs=1e-12)}


def test_real_images(tmp_path: Path) -> None:
    gauge = open_image_metrics(["ssim"], {})["ssim"]
    for path in real_images(3):
        with Image.open(path) as opened:
            first = opened.convert("RGB")
        first.thumbnail((701, 701))
        second = first.resize((97, 53)).resize(first.size)
        first.save(tmp_path / "source.png")
        second.save(tmp_path / "edit.png")
        found = look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
        assert found["ssim"] == pytest.approx(plain(first, second), abs=1e-12)
        assert 0 < found["ssim"] < 1


def test_clipping_matters_where_structures_are_opposed() -> None:
    first = noise(1, (40, 40))
    opposed = Image.fromarray(255 - np.asarray(first))
    a, b = luma(first), luma(opposed)
    assert ssim(a, b, clipped=False) < -0.5
    assert 0 <= ssim(a, b) < 0.1
    assert ssim(a, a) == pytest.approx(1.0, abs=1e-12)


def test_grey_and_alpha(tmp_path: Path) -> None:
    grey = noise(1, (30, 20)).convert("L")
    grey.save(tmp_path / "source.png")
    clear = noise(2, (30, 20)).convert("RGBA")
    clear.putalpha(0)
    clear.save(tmp_path / "edit.png")
    gauge = open_image_metrics(["ssim"], {})["ssim"]
    found = look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "edit.png")
    white = Image.new("RGB", (30, 20), (255, 255, 255))
    assert found["ssim"] == pytest.approx(plain(grey.convert("RGB"), white), abs=1e-12)


def test_smaller_than_the_window(tmp_path: Path) -> None:
    noise(1, (10, 40)).save(tmp_path / "source.png")
    gauge = open_image_metrics(["ssim"], {})["ssim"]
    with pytest.raises(NotMeasurable, match="window of 11"):
        look(gauge, Sample("s", "", tmp_path / "source.png"), tmp_path / "source.png")


def plain_ms_ssim(first: Image.Image, second: Image.Image) -> float:
    """Compute the paper's formula with PyTorch's convolution and pooling.

    torchmetrics also counts windows that cross the edge, so it cannot be the comparison.
    """
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    bell = torch.exp(-((torch.arange(11, dtype=torch.float64) - 5) ** 2) / (2 * 1.5**2))
    window = torch.outer(bell, bell)[None, None] / bell.sum() ** 2
    x, y = (torch.tensor(luma(image), dtype=torch.float64)[None, None] for image in (first, second))
    found = 1.0
    for at, weight in enumerate((0.0448, 0.2856, 0.3001, 0.2363, 0.1333)):
        mx, my, xx, yy, xy = (functional.conv2d(of, window) for of in (x, y, x * x, y * y, x * y))
        structure = (2 * (xy - mx * my) + 58.5225) / (xx - mx**2 + yy - my**2 + 58.5225)
        light = (2 * mx * my + 6.5025) / (mx**2 + my**2 + 6.5025)
        found *= max(0.0, float((structure * light if at == 4 else structure).mean())) ** weight
        x, y = (functional.avg_pool2d(of, 2) for of in (x, y))
    return found


@pytest.mark.parametrize("size", [(176, 176), (181, 300), (257, 193)])
def test_ms_ssim_is_the_papers(size: tuple[int, int]) -> None:
    first = slope(size)
    blurred = first.resize((40, 40)).resize(size)
    for second in (noise(1, size), blurred):
        assert ms_ssim(luma(first), luma(second)) == pytest.approx(plain_ms_ssim(first, second), abs=1e-12)
    assert ms_ssim(luma(first), luma(first)) == pytest.approx(1.0, abs=1e-12)
    assert 0.5 < ms_ssim(luma(first), luma(blurred)) < 1
    opposed = Image.fromarray(255 - np.asarray(noise(1, size)))
    assert ms_ssim(luma(noise(1, size)), luma(opposed)) == 0.0


def test_ms_ssim_of_small_images(tmp_path: Path) -> None:
    gauge = open_image_metrics(["ms_ssim"], {})["ms_ssim"]
    for side in (175, 176):
        noise(1, (side, 300)).save(tmp_path / f"{side}.png")
    with pytest.raises(NotMeasurable, match="fewer than 176 pixels"):
        look(gauge, Sample("s", "", tmp_path / "175.png"), tmp_path / "175.png")
    found = look(gauge, Sample("s", "", tmp_path / "176.png"), tmp_path / "176.png")
    assert found == {"ms_ssim": pytest.approx(1.0)}
