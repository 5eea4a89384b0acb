"""How far an edit's pixels are from its source's, where nothing was to be edited.

L1 = mean |edit - source| over pixels and channels in [0, 1], outside the mask's region.
"""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.masked_distance import PixelDistance, measure_pixel_distance
from creval.metrics.metric_inputs import MetricInputs, NotMeasurable


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
