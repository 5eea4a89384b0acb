"""Structural similarity of an edit and its source (SSIM, Wang et al. 2004; MS-SSIM, Wang et al. 2003).

SSIM is computed as in ICE-Bench's release, which uses pyiqa:

- Luma (0.299 R + 0.587 G + 0.114 B) is rounded to integers.
- The window is a Gaussian of 11 pixels with sigma 1.5. Only windows that are completely inside the image count.
- Large images are not scaled down.
- A window with a negative contrast-structure term counts as 0.

MS-SSIM = cs_1^0.0448 cs_2^0.2856 cs_3^0.3001 cs_4^0.2363 ssim_5^0.1333 over five scales, each half the size of the
previous one (means of 2 x 2 pixels). cs is the mean contrast-structure term; a negative mean counts as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs, NotMeasurable

Luma = NDArray[np.uint8]
Floats = NDArray[np.float64]
WINDOW, SIGMA = 11, 1.5
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_STRIP_ROWS, _THREADS = 96, 4
_WEIGHTS = np.array([[0.299, 0.587, 0.114]])
SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
MIN_SIDE = WINDOW * 2 ** (len(SCALE_WEIGHTS) - 1)


class Ssim(ImageMetric):
    """The mean of SSIM over all windows."""

    info = MetricInfo(
        "ssim",
        "structural similarity of edit and source",
        (Metric("ssim", "SSIM of luma", 0.0, 1.0),),
        "similarity",
        needs=("source",),
        paper="Wang et al., IEEE TIP 13(4), 2004",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        source, edit = inputs.source.image, inputs.edit_at_source_size().image
        if min(source.size) < WINDOW:
            raise NotMeasurable(f"the source is smaller than the window of {WINDOW} pixels")
        return {"ssim": ssim(luma(source), luma(edit))}


class MsSsim(ImageMetric):
    """MS-SSIM, the product over five scales."""

    info = MetricInfo(
        "ms_ssim",
        "structural similarity of edit and source, over five scales",
        (Metric("ms_ssim", "MS-SSIM of luma", 0.0, 1.0),),
        "similarity",
        needs=("source",),
        paper="Wang et al., Asilomar Conference on Signals, 2003",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        source, edit = inputs.source.image, inputs.edit_at_source_size().image
        if min(source.size) < MIN_SIDE:
            raise NotMeasurable(f"a side of the source has fewer than {MIN_SIDE} pixels")
        return {"ms_ssim": ms_ssim(luma(source), luma(edit))}


def luma(image: Image.Image) -> Luma:
    """Return the luma of each pixel as an integer from 0 to 255."""
    import cv2

    pixels = np.asarray(image)
    found = np.empty(pixels.shape[:2], dtype=np.uint8)
    for top in range(0, len(pixels), _STRIP_ROWS):
        strip = pixels[top : top + _STRIP_ROWS].astype(np.float64)
        found[top : top + _STRIP_ROWS] = np.rint(cv2.transform(strip, _WEIGHTS))
    return found


def ssim(first: Luma, second: Luma, *, clipped: bool = True) -> float:
    """Return the mean SSIM of two luma images of the same size.

    If `clipped`, a window with a negative contrast-structure term counts as 0. The SSIM paper does not clip.
    """
    return _mean_terms(first, second, clipped)[0]


def ms_ssim(first: Luma, second: Luma) -> float:
    """Return the MS-SSIM of two luma images of the same size, with sides of at least `MIN_SIDE` pixels."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    found = 1.0
    for weight in SCALE_WEIGHTS[:-1]:
        found *= max(0.0, _mean_terms(a, b, clipped=False)[1]) ** weight
        a, b = _halve(a), _halve(b)
    return float(found * max(0.0, _mean_terms(a, b, clipped=False)[0]) ** SCALE_WEIGHTS[-1])


def _halve(image: Floats) -> Floats:
    """Return the means of 2 x 2 pixels. The last row or column is dropped if their number is odd."""
    height, width = image.shape[0] // 2 * 2, image.shape[1] // 2 * 2
    even: Floats = image[:height, :width].reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
    return even


def _mean_terms(first: Luma | Floats, second: Luma | Floats, clipped: bool) -> tuple[float, float]:
    """Return the means of SSIM and of the contrast-structure term over all windows."""
    edge = WINDOW // 2
    inner = int(first.shape[0]) - 2 * edge, int(first.shape[1]) - 2 * edge

    def strip(top: int) -> tuple[float, float]:
        rows = slice(top, top + _STRIP_ROWS + 2 * edge)
        return _strip_sums(first[rows], second[rows], edge, clipped)

    # Strip by strip: an array that exceeds the processor's cache takes twice as long.
    with ThreadPoolExecutor(_THREADS) as pool:
        sums = list(pool.map(strip, range(0, inner[0], _STRIP_ROWS)))
    windows = inner[0] * inner[1]
    return sum(whole for whole, _ in sums) / windows, sum(structure for _, structure in sums) / windows


def _strip_sums(first: Luma | Floats, second: Luma | Floats, edge: int, clipped: bool) -> tuple[float, float]:
    """Return the sums of SSIM and of the contrast-structure term over all windows in a strip."""
    import cv2

    a, b = first.astype(np.float64), second.astype(np.float64)

    def blurred(of: Floats) -> Floats:
        found = np.asarray(cv2.GaussianBlur(of, (WINDOW, WINDOW), SIGMA), dtype=np.float64)
        return found[edge:-edge, edge:-edge]

    mean_a, mean_b = blurred(a), blurred(b)
    both = mean_a * mean_b
    squares = mean_a * mean_a + mean_b * mean_b
    # The two variances are only needed as a sum.
    spread = blurred(a * a + b * b) - squares
    structure = (2 * (blurred(a * b) - both) + _C2) / (spread + _C2)
    if clipped:
        np.maximum(structure, 0.0, out=structure)
    whole = (2 * both + _C1) / (squares + _C1) * structure
    return float(whole.sum()), float(structure.sum())
