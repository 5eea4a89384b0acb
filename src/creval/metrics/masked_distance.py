"""How far the pixels of two images differ, where a mask lets them count."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from PIL import Image

from creval.core.sample import Box
from creval.metrics.metric_inputs import Mask, resize_bicubic

_ROWS = 256  # of a strip


class PixelDistance(NamedTuple):
    """The mean absolute and the mean squared difference, and the share of pixels they rest on."""

    l1: float
    l2: float
    pixel_share: float


def mask_outside_boxes(size: tuple[int, int], boxes: Iterable[Box]) -> Mask:
    """What lies outside all boxes, in a picture of this width and height.

    A box covers every pixel that it touches. What of it lies outside the picture, and a box without
    an area, covers nothing.
    """
    width, height = size
    mask = np.full((height, width), 255, dtype=np.uint8)
    for left, top, right, bottom in boxes:
        if not (left < right and top < bottom and math.isfinite(left + top + right + bottom)):
            continue
        columns = slice(max(0, math.floor(left)), max(0, math.ceil(right)))
        rows = slice(max(0, math.floor(top)), max(0, math.ceil(bottom)))
        mask[rows, columns] = 0
    return mask


def measure_pixel_distance(first: Image.Image, second: Image.Image, mask: Mask | None = None) -> PixelDistance | None:
    """How far two pictures in RGB differ; none where the mask leaves no pixel.

    The second is scaled to the first's size.
    """
    import cv2

    second = resize_bicubic(second, first.size)
    width, height = first.size
    pixels = width * height
    kept = pixels if mask is None else int(cv2.countNonZero(mask))
    if kept == 0:
        return None
    # Strip by strip, so that a large picture does not lie in memory several times.
    total = square = 0.0
    for top in range(0, height, _ROWS):
        bottom = min(height, top + _ROWS)
        strip = (0, top, width, bottom)
        apart = cv2.absdiff(np.asarray(first.crop(strip)), np.asarray(second.crop(strip)))
        if mask is not None:  # norm's own is slow, and overflows in wide rows
            apart = cv2.copyTo(apart, mask[top:bottom])
        total += cv2.norm(apart, cv2.NORM_L1)
        square += cv2.norm(apart, cv2.NORM_L2SQR)
    values = 3.0 * kept
    return PixelDistance(total / 255.0 / values, square / 255.0**2 / values, kept / pixels)
