"""How near an edit stayed to its source in meaning: cos(edit, source) of CLIP's vectors."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.clip import MODEL, ClipGauge
from creval.gauges.embedding import Vector, Wish, cosine
from creval.gauges.exhibit import Exhibit


class ClipSource(ClipGauge):
    """ICE-Bench's CLIP-src."""

    card = GaugeCard(
        "clip_src",
        "how near the edit stayed to its source in meaning",
        (Metric("clip_src", "cosine of edit and source", -1.0, 1.0),),
        "cosine",
        needs=("source",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="ICE-Bench; Radford et al., arXiv 2103.00020",
    )

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self.clip, exhibit.source), Wish(self.clip, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_src": cosine(*made)}
