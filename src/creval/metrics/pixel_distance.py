"""How far an edit's pixels are from its source's, where nothing was to be edited.

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

_ROWS = 256  # of a strip


class PixelDistance(NamedTuple):
    """The mean absolute and the mean squared difference, and the share of pixels they rest on."""

    l1: float
    l2: float
    pixel_share: float


def mask_outside_boxes(size: tuple[int, int], boxes: Iterable[Box]) -> Mask:
    """Return what lies outside boxes, which cover each pixel they touch; without an area they cover none."""
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
    """Return how far two RGB images differ, the second scaled to the first; None if the mask leaves no pixel."""
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


class SourceL1(ImageMetric):
    """The mean absolute difference; with a mask, of what lies outside its region."""

    info = MetricInfo(
        "l1_src",
        "how far pixels are from the source's, outside the mask if there is one",
        (Metric("l1_src", "mean absolute difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("source", "mask"),
        paper="ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"l1_src": unedited_distance(inputs).l1}


def unedited_distance(inputs: MetricInputs) -> PixelDistance:
    """The distance of an edit from its source where nothing was to be edited."""
    source = inputs.source.image
    region = inputs.editable_region(source.size)
    found = measure_pixel_distance(source, inputs.edit_at_source_size().image, None if region is None else ~region)
    if found is None:
        raise NotMeasurable("the mask covers the whole picture")
    return found


class SourceL2(ImageMetric):
    """The mean squared difference; with a mask, of what lies outside its region."""

    info = MetricInfo(
        "l2_src",
        "how far pixels are from the source's, squared, outside the mask if there is one",
        (Metric("l2_src", "mean squared difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range, squared",
        needs=("source", "mask"),
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"l2_src": unedited_distance(inputs).l2}
