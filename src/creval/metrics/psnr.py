"""Peak signal-to-noise ratio (PSNR) of an edit relative to its source, outside the region to edit.

PSNR = 10 log10(1 / mean (edit - source)^2) in decibels, over pixels and channels in [0, 1], outside the mask's region.
Values are capped at 100 dB. Equal images would have an infinite PSNR. They count as 100 dB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs
from creval.metrics.pixel_distance import unedited_distance

MAX_DECIBELS = 100.0


class Psnr(ImageMetric):
    """The peak signal-to-noise ratio. With a mask, only pixels outside its region count."""

    info = MetricInfo(
        "psnr",
        "fidelity of pixels to the source's, outside the mask if there is one",
        (Metric("psnr", "peak signal-to-noise ratio", 0.0, MAX_DECIBELS),),
        "dB",
        needs=("source", "mask"),
        paper="Huynh-Thu and Ghanbari, Electronics Letters 44(13), 2008",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        squared = unedited_distance(inputs).l2
        return {"psnr": min(MAX_DECIBELS, -10 * math.log10(squared)) if squared else MAX_DECIBELS}
