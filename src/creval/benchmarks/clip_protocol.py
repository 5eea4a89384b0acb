"""CLIP scores for any dataset: similarity to the source and directional similarity (arXiv 2108.00946, 2211.09800).

CLIP_img = cos(edit, source), CLIP_dir = cos(edit - source, target caption - source caption)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from creval.core.benchmark import Protocol
from creval.core.probe import Measurement, Probe
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Metric, Score, ScoreSchema

SCHEMA = ScoreSchema(
    metrics=(
        Metric("CLIP_img", "cosine of edit and source", -1.0, 1.0),
        Metric("CLIP_dir", "cosine of the change and the change of captions", -1.0, 1.0),
    ),
    composite=None,
    levels=(OVERALL,),
    rank_by="CLIP_img",
)


class ClipProtocol(Protocol):
    """CLIP_img for all samples, and CLIP_dir for samples with captions of source and target. No judge is needed."""

    name = "clip"
    schema = SCHEMA

    def probes(self, sample: Sample) -> Sequence[Measurement]:
        names = ["CLIP_img"] if sample.source is not None else []
        if names and sample.has_captions:
            names.append("CLIP_dir")
        return [Measurement(name, name, "clip") for name in names]

    def score(
        self, sample: Sample, probes: Sequence[Probe], values: Mapping[str, float | None], *, strict: bool = False
    ) -> dict[str, Score]:
        return self.single_probe_scores(probes, values)
