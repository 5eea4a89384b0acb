"""Whether what was not to be edited stayed the same: L1 and L2 outside the edited objects' boxes.

The boxes are those of the objects in the source that steps change, as the benchmark or a detector
gives them, and those of the objects that steps make, as a detector finds them in the edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from creval.core.sample import Box, InstructionStep
from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelPool
from creval.metrics.features import FeatureArray, FeatureExtractor, FeatureRequest
from creval.metrics.metric_inputs import ImageWithContext, MetricInputs, NotMeasurable
from creval.metrics.model_loading import ModelInfo
from creval.metrics.object_detection import ObjectDetector
from creval.metrics.pixel_distance import mask_outside_boxes, measure_pixel_distance

_NO_BOX = "no box is known of what is to be changed (a detector can find it: `metric_models` boxes=MODEL)"


class OutsideBoxes(ImageMetric):
    """L1 and L2 outside boxes; without a detector what was added counts as a change."""

    info = MetricInfo(
        "outside",
        "how far pixels changed outside the boxes of what was to be edited",
        (
            Metric("L1", "mean absolute difference", 0.0, 1.0, higher_is_better=False),
            Metric("L2", "mean squared difference", 0.0, 1.0, higher_is_better=False),
        ),
        "share of a pixel's range",
        needs=("source",),
        models=(
            ModelInfo(
                "boxes",
                "a zero-shot detector (without one, the benchmark's boxes)",
                0,
                "its own",
                "https://huggingface.co/models?pipeline_tag=zero-shot-object-detection",
                origin="optional",
            ),
        ),
        paper="ComplexBench-Edit",
    )

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        model = pool.chosen_model("boxes")
        self._detector: FeatureExtractor | None = pool.get_or_create(ObjectDetector, model) if model else None

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        """To find what steps change in the source, and what they make in the edit."""
        source, steps = inputs.source, inputs.sample.steps
        if not steps:
            raise NotMeasurable("the sample has no steps that say what is to be edited")
        if self._detector is None:
            return ()
        sought = [ImageWithContext(source, step.old) for step in steps if _needs_detection(step)]
        sought += [ImageWithContext(inputs.edit_at_source_size(), step.new) for step in steps if step.new]
        return [FeatureRequest(self._detector, image) for image in sought]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:
        source, edited = inputs.source.image, inputs.edit_at_source_size().image
        boxes = list(self._edited_boxes(inputs.sample.steps, features))
        found = measure_pixel_distance(source, edited, mask_outside_boxes(source.size, boxes))
        if found is None:
            raise NotMeasurable("the boxes cover the whole picture")
        return {"L1": found.l1, "L2": found.l2}

    def _edited_boxes(self, steps: Sequence[InstructionStep], features: Sequence[FeatureArray]) -> Iterator[Box]:
        found: Iterator[list[Box]] = iter([[*map(tuple, boxes.tolist())] for boxes in features])
        for step in steps:
            yield from step.boxes
            if not _needs_detection(step):
                continue
            boxes = next(found, [])
            # What a step before it makes is not in the source.
            if not boxes and not step.needs:
                if self._detector is None:
                    raise NotMeasurable(_NO_BOX, step.old)
                raise NotMeasurable("the detector does not find what is to be changed", step.old)
            yield from boxes
        for boxes in found:
            yield from boxes


def _needs_detection(step: InstructionStep) -> bool:
    """Whether what a step changes has a name, and no box."""
    return bool(step.old) and not step.boxes
