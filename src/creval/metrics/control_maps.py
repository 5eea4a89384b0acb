"""How far the edges in an edit are from the edges that it was to follow.

The control shows white edges on black; those of the edit are found by Canny (1986) with the
thresholds 100 and 200. The value is mean |control in grey - edges| / 255.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.control_distance import GreyMap, control_distance
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs

_LOW, _HIGH = 100, 200


class CannyDistance(ImageMetric):
    """The mean absolute difference between two maps of edges."""

    info = MetricInfo(
        "canny",
        "how far the edit's edges are from those of the control picture",
        (Metric("canny", "mean absolute difference of edges", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench; Canny, IEEE TPAMI 8(6), 1986",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        found = canny_edges(np.asarray(inputs.edit_at_source_size().image))
        return {"canny": control_distance(inputs.source.image, found)}


def canny_edges(pixels: GreyMap) -> GreyMap:
    """Where the edges of a picture in RGB are: 255, and 0 elsewhere."""
    import cv2

    return np.asarray(cv2.Canny(pixels, _LOW, _HIGH))


class GreyDistance(ImageMetric):
    """The mean absolute difference between two pictures in grey."""

    info = MetricInfo(
        "grey",
        "how far the edit in grey is from the control picture in grey",
        (Metric("grey", "mean absolute difference in grey", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        edited = np.asarray(inputs.edit_at_source_size().image.convert("L"))
        return {"grey": control_distance(inputs.source.image, edited)}
