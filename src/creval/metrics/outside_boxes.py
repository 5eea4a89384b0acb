"""Whether what was not to be edited stayed the same: L1 and L2 outside the edited objects' boxes.

The boxes are those of the objects in the source that steps change, as the benchmark or a detector
gives them, and those of the objects that steps make, as a detector finds them in the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from creval.core.sample import Box, Step
from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.embeddings import Embedder, Vector, Wish
from creval.metrics.inputs import Beside, Exhibit, Unmeasured
from creval.metrics.object_detection import Detector
from creval.metrics.pixel_distance import distance, outside

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
        super().__init__(tools)
        model = tools.chosen("boxes")
        self._detector: Embedder | None = tools.share(Detector, model) if model else None

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        """To find what steps change in the source, and what they make in the edit."""
        source, steps = exhibit.source, exhibit.sample.steps
        if not steps:
            raise Unmeasured("the sample has no steps that say what is to be edited")
        if self._detector is None:
            return ()
        sought = [Beside(source, step.old) for step in steps if _sought(step)]
        sought += [Beside(exhibit.aligned(), step.new) for step in steps if step.new]
        return [Wish(self._detector, picture) for picture in sought]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:
        source, edited = exhibit.source.image, exhibit.aligned().image
        boxes = list(self._boxes(exhibit.sample.steps, made))
        found = distance(source, edited, outside(source.size, boxes))
        if found is None:
            raise Unmeasured("the boxes cover the whole picture")
        return {"L1": found.l1, "L2": found.l2}

    def _boxes(self, steps: Sequence[Step], made: Sequence[Vector]) -> Iterator[Box]:
        found: Iterator[list[Box]] = iter([[*map(tuple, boxes.tolist())] for boxes in made])
        for step in steps:
            yield from step.boxes
            if not _sought(step):
                continue
            boxes = next(found, [])
            # What a step before it makes is not in the source.
            if not boxes and not step.needs:
                if self._detector is None:
                    raise Unmeasured(_NO_BOX, step.old)
                raise Unmeasured("the detector does not find what is to be changed", step.old)
            yield from boxes
        for boxes in found:
            yield from boxes


def _sought(step: Step) -> bool:
    """Whether what a step changes has a name, and no box."""
    return bool(step.old) and not step.boxes
