"""Whether an edit went the way from its source's caption to its target's.

cos(edit - source, target caption - source caption) of CLIP's vectors, each of length 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.clip import MODEL, ClipGauge, directional_similarity
from creval.gauges.embedding import Thing, Vector, Wish
from creval.gauges.exhibit import Exhibit, Unmeasured


class ClipDirection(ClipGauge):
    """The directional similarity of StyleGAN-NADA and InstructPix2Pix."""

    card = GaugeCard(
        "clip_dir",
        "whether the picture changed as its captions do",
        (Metric("clip_dir", "cosine of the change and the change of captions", -1.0, 1.0),),
        "cosine",
        needs=("source", "captions"),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="arXiv 2108.00946, 2211.09800",
    )

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        captions = [exhibit.caption(of) for of in ("source", "target")]
        things: list[Thing] = [exhibit.source, exhibit.edit, *captions]
        return [Wish(self.clip, thing) for thing in things]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        source, edit, before, after = made
        found = directional_similarity(source, edit, before, after)
        if found is None:
            raise Unmeasured("the picture, or its caption, has not changed at all")
        return {"clip_dir": found}
