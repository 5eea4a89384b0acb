"""How far an edit's pixels are from its source's, squared, where nothing was to be edited.

L2 = mean (edit - source)^2 over pixels and channels in [0, 1], outside the mask's region.
"""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit
from creval.gauges.gauge import Gauge
from creval.gauges.l1_src import unedited_distance


class SourceL2(Gauge):
    """The mean squared difference; with a mask, of what lies outside its region."""

    card = GaugeCard(
        "l2_src",
        "how far pixels are from the source's, squared, outside the mask if there is one",
        (Metric("l2_src", "mean squared difference", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range, squared",
        needs=("source", "mask"),
    )

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"l2_src": unedited_distance(exhibit).l2}
