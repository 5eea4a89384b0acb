"""Distance between a map of the edit (edges, grey values, ...) and the control image that the edit should follow.

A control image of edges shows them in white on black. The edges of the edit are found by Canny (1986) with thresholds
100 and 200. The distance is mean |control in grey - map of the edit| / 255.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelMetric
from creval.metrics.features import ExtractorInput, FeatureArray
from creval.metrics.metric_inputs import ImageWithContext, LazyImage, MetricInputs

GreyMap = NDArray[np.uint8]
_LOW, _HIGH = 100, 200


def control_distance(control: Image.Image, edit_map: GreyMap) -> float:
    """Return the distance between a map of the edit and the control image in grey. Both must have the same size."""
    import cv2

    grey = np.asarray(control.convert("L"))
    return float(cv2.norm(grey, edit_map, cv2.NORM_L1)) / 255.0 / grey.size


def edit_control_pairs(items: Sequence[ExtractorInput]) -> list[tuple[Image.Image, Image.Image]]:
    """Return each edit with its control image, decoded."""
    return [
        (item.image, item.context.image)
        for item in items
        if isinstance(item, ImageWithContext) and isinstance(item.context, LazyImage)
    ]


class ControlModelMetric(ModelMetric):
    """A metric based on a map that a model makes of the edit.

    The map is not cached, only its distance from the control image.
    """

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [ImageWithContext(inputs.edit_at_source_size(), inputs.source)]


class CannyDistance(ImageMetric):
    """The mean absolute difference between the edges of the edit and the control image."""

    info = MetricInfo(
        "canny",
        "distance of the edit's edges from those of the control image",
        (Metric("canny", "mean absolute difference of edges", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench; Canny, IEEE TPAMI 8(6), 1986",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        found = canny_edges(np.asarray(inputs.edit_at_source_size().image))
        return {"canny": control_distance(inputs.source.image, found)}


def canny_edges(pixels: GreyMap) -> GreyMap:
    """Return the edge map of an RGB image: 255 at edges, 0 elsewhere."""
    import cv2

    return np.asarray(cv2.Canny(pixels, _LOW, _HIGH))


class GreyDistance(ImageMetric):
    """The mean absolute difference between the edit in grey and the control image."""

    info = MetricInfo(
        "grey",
        "distance of the edit in grey from the control image in grey",
        (Metric("grey", "mean absolute difference in grey", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        edited = np.asarray(inputs.edit_at_source_size().image.convert("L"))
        return {"grey": control_distance(inputs.source.image, edited)}
