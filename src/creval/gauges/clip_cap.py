"""Whether an edit shows what its target's caption says: cos(edit, caption) of CLIP's vectors."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.clip import MODEL, ClipGauge
from creval.gauges.embedding import Vector, Wish, cosine
from creval.gauges.exhibit import Exhibit


class ClipCaption(ClipGauge):
    """ICE-Bench's CLIP-cap. A caption is cut after the model's last token, 77 for CLIP."""

    card = GaugeCard(
        "clip_cap",
        "how near the edit is to the caption of what it is to show",
        (Metric("clip_cap", "cosine of edit and target caption", -1.0, 1.0),),
        "cosine",
        needs=("caption",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="ICE-Bench; Hessel et al., arXiv 2104.08718",
    )

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self.clip, exhibit.edit), Wish(self.clip, exhibit.caption("target"))]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"clip_cap": cosine(*made)}
