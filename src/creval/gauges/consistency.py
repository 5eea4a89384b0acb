"""Whether what was not to be edited stayed the same: L1 and L2 outside the edited objects' boxes.

The boxes are those of the objects in the source that steps change, as the benchmark or a detector
gives them, and those of the objects that steps make, as a detector finds them in the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from PIL import Image

from creval.core.images import open_image
from creval.core.sample import Box, Sample
from creval.gauges.boxes import Detector
from creval.gauges.gauge import Gauge, Unmeasured
from creval.gauges.pixels import distance, outside, scaled

_NO_BOX = "no box is known of what is to be changed (a detector can find it: --gauge boxes=MODEL)"


class Outside(Gauge):
    """L1 and L2 outside boxes; without a detector what was added counts as a change."""

    uses = ("boxes",)

    def __init__(self, models: Mapping[str, str]) -> None:
        model = models.get("boxes")
        self._detector = Detector(model) if model else None
        self.name = f"outside@{model}" if model else "outside"
        # Systems' edits of one source follow each other.
        self._in_source = lru_cache(maxsize=256)(self._find_in_source)

    def measure(self, sample: Sample, edit: Path) -> dict[str, float]:
        if sample.source is None:
            raise Unmeasured("there is no source to compare with")
        source = open_image(sample.source)
        edited = scaled(open_image(edit), source.size)
        boxes = list(self._boxes(sample, sample.source, edited))
        found = distance(source, edited, outside(source.size, boxes))
        if found is None:
            raise Unmeasured("the boxes cover the whole picture")
        return {"L1": found.l1, "L2": found.l2}

    def _find_in_source(self, source: Path, name: str) -> list[Box]:
        if self._detector is None:
            return []
        return self._detector.find(open_image(source), [name])[name]

    def _boxes(self, sample: Sample, source: Path, edited: Image.Image) -> Iterator[Box]:
        for step in sample.steps:
            if step.boxes or not step.old:
                yield from step.boxes
                continue
            found = self._in_source(source, step.old)
            # What a step before it makes is not in the source.
            if not found and not step.needs:
                if self._detector is None:
                    raise Unmeasured(_NO_BOX, step.old)
                raise Unmeasured("the detector does not find what is to be changed", step.old)
            yield from found
        if self._detector is not None:
            made = [step.new for step in sample.steps if step.new]
            for boxes in self._detector.find(edited, made).values():
                yield from boxes
