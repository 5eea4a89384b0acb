"""Pixel distance between an edit and its source, outside the region to edit.

L1 = mean |edit - source| over pixels and channels in [0, 1], outside the mask's region.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from creval.core.sample import Box
from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import Mask, MetricInputs, NotMeasurable, resize_bicubic

_ROWS = 256  # rows of a strip


class PixelDistance(NamedTuple):
    """The mean absolute and mean squared difference, and the share of pixels that were compared."""

    l1: float
    l2: float
    pixel_share: float


def mask_outside_boxes(size: tuple[int, int], boxes: Iterable[Box]) -> Mask:
    """Return a mask that is white outside all boxes.

    Pixels that a box touches in part count as inside. A box without an area contains no pixel.
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
    """Return the distance between two RGB images, with the second scaled to the first.

    Only pixels where the mask is white count. Returns None if there are none.
    """
    import cv2

    second = resize_bicubic(second, first.size)
    width, height = first.size
    pixels = width * height
    compared = pixels if mask is None else int(cv2.countNonZero(mask))
    if compared == 0:
        return None
    # Strip by strip, to avoid several copies of a large image in memory.
    total = square = 0.0
    for top in range(0, height, _ROWS):
        bottom = min(height, top + _ROWS)
        strip = (0, top, width, bottom)
        apart = cv2.absdiff(np.asarray(first.crop(strip)), np.asarray(second.crop(strip)))
        if mask is not None:  # the mask parameter of cv2.norm is slow and overflows in wide rows
            apart = cv2.copyTo(apart, mask[top:bottom])
        total += cv2.norm(apart, cv2.NORM_L1)
        square += cv2.norm(apart, cv2.NORM_L2SQR)
    values = 3.0 * compared
    return PixelDistance(total / 255.0 / values, square / 255.0**2 / values, compared / pixels)


class SourceL1(ImageMetric):
    """The mean absolute difference. With a mask, only pixels outside its region count."""

    info = MetricInfo(
        "l1_src",
        "distance of pixels from the source's, outside the mask if there is one",
        (Metric("l1_src", "mean absolute difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("source", "mask"),
        paper="ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"l1_src": unedited_distance(inputs).l1}


def unedited_distance(inputs: MetricInputs) -> PixelDistance:
    """Return the distance between an edit and its source outside the mask's region."""
    source = inputs.source.image
    region = inputs.editable_region(source.size)
    found = measure_pixel_distance(source, inputs.edit_at_source_size().image, None if region is None else ~region)
    if found is None:
        raise NotMeasurable("the mask covers the whole image")
    return found


class SourceL2(ImageMetric):
    """The mean squared difference. With a mask, only pixels outside its region count."""

    info = MetricInfo(
        "l2_src",
        "squared distance of pixels from the source's, outside the mask if there is one",
        (Metric("l2_src", "mean squared difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range, squared",
        needs=("source", "mask"),
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"l2_src": unedited_distance(inputs).l2}
