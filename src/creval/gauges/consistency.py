"""Whether what was not to be edited stayed the same: L1 and L2 outside the edited objects' boxes.

The boxes are those of the objects in the source that steps change, as the benchmark or a detector
gives them, and those of the objects that steps make, as a detector finds them in the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from creval.core.card import Metric
from creval.core.images import open_image
from creval.core.sample import Box
from creval.gauges.boxes import Detector
from creval.gauges.card import GaugeCard, ModelCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit, Unmeasured
from creval.gauges.gauge import Gauge, Tools
from creval.gauges.pixels import distance, outside

_NO_BOX = "no box is known of what is to be changed (a detector can find it: --gauge boxes=MODEL)"


class Outside(Gauge):
    """L1 and L2 outside boxes; without a detector what was added counts as a change."""

    card = GaugeCard(
        "outside",
        "how far pixels changed outside the boxes of what was to be edited",
        (
            Metric("L1", "mean absolute difference", 0.0, 1.0, higher_is_better=False),
            Metric("L2", "mean squared difference", 0.0, 1.0, higher_is_better=False),
        ),
        "share of a pixel's range",
        needs=("source",),
        models=(
            ModelCard(
                "boxes", "a zero-shot detector (without one, the benchmark's boxes)", 0, "its own",
                "https://huggingface.co/models?pipeline_tag=zero-shot-object-detection",
                comes="optional",
            ),
        ),
        paper="ComplexBench-Edit",
    )  # fmt: skip

    def __init__(self, tools: Tools) -> None:
        model = tools.chosen("boxes")
        self._detector = tools.share(Detector, model) if model else None
        self.name = f"outside@{model}" if model else "outside"
        # Systems' edits of one source follow each other.
        self._in_source = lru_cache(maxsize=256)(self._find_in_source)

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        source, edited = exhibit.source.image, exhibit.aligned().image
        boxes = list(self._boxes(exhibit))
        found = distance(source, edited, outside(source.size, boxes))
        if found is None:
            raise Unmeasured("the boxes cover the whole picture")
        return {"L1": found.l1, "L2": found.l2}

    def _find_in_source(self, source: Path, name: str) -> list[Box]:
        if self._detector is None:
            return []
        return self._detector.find(open_image(source), [name])[name]

    def _boxes(self, exhibit: Exhibit) -> Iterator[Box]:
        sample, source = exhibit.sample, exhibit.sample.source
        for step in sample.steps:
            if step.boxes or not step.old:
                yield from step.boxes
                continue
            found = self._in_source(source, step.old) if source is not None else []
            # What a step before it makes is not in the source.
            if not found and not step.needs:
                if self._detector is None:
                    raise Unmeasured(_NO_BOX, step.old)
                raise Unmeasured("the detector does not find what is to be changed", step.old)
            yield from found
        if self._detector is not None:
            made = [step.new for step in sample.steps if step.new]
            for boxes in self._detector.find(exhibit.aligned().image, made).values():
                yield from boxes
