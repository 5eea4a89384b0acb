"""Detection of edits that left the source unchanged, by pixels and structure after alignment.

An edit is unchanged if its difference from the source is at most that of a recompressed source: a JPEG of low quality,
at full or at half size.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

GreyImage = NDArray[np.float32]
_MAX_SOURCE_SIDE = 1024  # longer side of the source before it is recompressed, in pixels
_COMPARED_SIDE = 512  # longer side of the images when they are compared, in pixels
_BLOCKS = 16  # blocks per side; changes are also measured within each block
_MAX_SHIFT = 0.04  # largest shift that is corrected, as a share of a side
_BORDER = 0.05  # border that is ignored, since shifting leaves it empty, as a share of a side
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # as in the paper on SSIM
_JPEG_QUALITY = 50


class ImageChange(NamedTuple):
    """The difference between two images.

    - `whole` is the mean absolute difference of all pixels, in [0, 1].
    - `pixels` is the mean absolute difference in the block where it is largest.
    - `structure` is 1 - SSIM in the block where it is largest.

    There are 16 x 16 blocks.
    """

    whole: float
    pixels: float
    structure: float

    def is_within(self, other: ImageChange) -> bool:
        return all(one <= most for one, most in zip(self, other, strict=True))


def measure_change(source: Image.Image, edit: Image.Image) -> ImageChange:
    """Return the difference between an edit and its source after aligning them."""
    import cv2

    width, height = _fit_within(source.size, _COMPARED_SIDE)
    size = max(32, width), max(32, height)
    first, second = (
        np.asarray(_rgb(image).resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)) for image in (source, edit)
    )
    window = cv2.createHanningWindow(size, cv2.CV_32F)
    shift, _ = cv2.phaseCorrelate(_grey(first), _grey(second), window)
    steps = [s if 0.25 < abs(s) <= _MAX_SHIFT * n else 0.0 for s, n in zip(shift, size, strict=True)]
    if any(steps):
        move = np.array([[1, 0, -steps[0]], [0, 1, -steps[1]]], dtype=np.float32)
        second = cv2.warpAffine(second, move, size, flags=cv2.INTER_CUBIC)
    half = size[0] // 2, size[1] // 2
    first, second = (cv2.resize(image, half, interpolation=cv2.INTER_AREA) for image in (first, second))
    inner = tuple(slice(int(n * _BORDER), n - int(n * _BORDER)) for n in first.shape[:2])
    apart = cv2.absdiff(first[inner], second[inner]).mean(axis=-1).astype(np.float32)
    alike = _ssim_map(_grey(first), _grey(second))[inner]
    blocks = [cv2.resize(image, (_BLOCKS, _BLOCKS), interpolation=cv2.INTER_AREA) for image in (apart, alike)]
    return ImageChange(float(apart.mean()) / 255, float(blocks[0].max()) / 255, 1 - float(blocks[1].min()))


def recompression_noise(source: Image.Image) -> ImageChange:
    """Return the largest difference, for each measure, between a source and its recompressed copies."""
    source = _rgb(source).resize(_fit_within(source.size, _MAX_SOURCE_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    half = source.resize(_fit_within(source.size, max(source.size) // 2), Image.Resampling.LANCZOS)
    found = [measure_change(source, _recompress(image)) for image in (source, half)]
    return ImageChange(*map(max, zip(*found, strict=True)))


def _rgb(image: Image.Image) -> Image.Image:
    return image if image.mode == "RGB" else image.convert("RGB")  # convert() always copies


def _fit_within(size: tuple[int, int], side: int) -> tuple[int, int]:
    """Return a size scaled down until no side exceeds the limit."""
    scale = min(1.0, side / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _grey(image: NDArray[Any]) -> GreyImage:
    import cv2

    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.float32)


def _recompress(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return Image.open(buffer)


def _ssim_map(one: GreyImage, other: GreyImage) -> GreyImage:
    """Return SSIM at each pixel, with a Gaussian window of 11 pixels as in the paper on SSIM."""
    import cv2

    def blurred(image: GreyImage) -> GreyImage:
        return np.asarray(cv2.GaussianBlur(image, (11, 11), 1.5), dtype=np.float32)

    means = blurred(one), blurred(other)
    squares = [blurred(image * image) - mean * mean for image, mean in zip((one, other), means, strict=True)]
    both = blurred(one * other) - means[0] * means[1]
    top = (2 * means[0] * means[1] + _C1) * (2 * both + _C2)
    bottom = (means[0] ** 2 + means[1] ** 2 + _C1) * (squares[0] + squares[1] + _C2)
    return np.asarray(top / bottom, dtype=np.float32)
