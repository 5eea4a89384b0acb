"""How far the edges in an edit are from the edges that it was to follow.

The control shows white edges on black; those of the edit are found by Canny (1986) with the
thresholds 100 and 200. The value is mean |control in grey - edges| / 255.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit
from creval.gauges.gauge import Gauge
from creval.gauges.grey import Grey, control_distance

_LOW, _HIGH = 100, 200


class Canny(Gauge):
    """The mean absolute difference between two maps of edges."""

    card = GaugeCard(
        "canny",
        "how far the edit's edges are from those of the control picture",
        (Metric("canny", "mean absolute difference of edges", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench; Canny, IEEE TPAMI 8(6), 1986",
    )

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        found = edges(np.asarray(exhibit.aligned().image))
        return {"canny": control_distance(exhibit.source.image, found)}


def edges(pixels: Grey) -> Grey:
    """Where the edges of a picture in RGB are: 255, and 0 elsewhere."""
    import cv2

    return np.asarray(cv2.Canny(pixels, _LOW, _HIGH))
