"""How far an edit's pixels are from its source's, where nothing was to be edited.

L1 = mean |edit - source| over pixels and channels in [0, 1], outside the mask's region.
"""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit, Unmeasured
from creval.gauges.gauge import Gauge
from creval.gauges.pixels import Distance, distance


class SourceL1(Gauge):
    """The mean absolute difference; with a mask, of what lies outside its region."""

    card = GaugeCard(
        "l1_src",
        "how far pixels are from the source's, outside the mask if there is one",
        (Metric("l1_src", "mean absolute difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("source", "mask"),
        paper="ICE-Bench",
    )

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"l1_src": unedited_distance(exhibit).l1}


def unedited_distance(exhibit: Exhibit) -> Distance:
    """The distance of an edit from its source where nothing was to be edited."""
    source = exhibit.source.image
    region = exhibit.region(source.size)
    found = distance(source, exhibit.aligned().image, None if region is None else ~region)
    if found is None:
        raise Unmeasured("the mask covers the whole picture")
    return found
