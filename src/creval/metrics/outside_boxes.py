"""Preservation of the unedited area: L1 and L2 outside the boxes of the edited objects.

The boxes of objects that steps change in the source come from the benchmark or a detector. The boxes of objects that
steps add are found in the edit by a detector. `outside` excludes the area of these boxes, as the authors' code does.
`outside_all` excludes the union of equation 9 in the paper: in addition, the boxes in the edit of the objects that
steps change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from creval.core.sample import Box, InstructionStep
from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelPool
from creval.metrics.features import FeatureArray, FeatureExtractor, FeatureRequest
from creval.metrics.metric_inputs import ImageWithContext, MetricInputs, NotMeasurable
from creval.metrics.model_loading import ModelInfo
from creval.metrics.object_detection import ObjectDetector
from creval.metrics.pixel_distance import mask_outside_boxes, measure_pixel_distance

_NO_BOX = "the object to change has no box (a detector can find it: `metric_models` boxes=MODEL)"


class OutsideBoxes(ImageMetric):
    """L1 and L2 outside boxes.

    Without a detector, the area of added objects is not excluded.
    """

    info = MetricInfo(
        "outside",
        "change of pixels outside the boxes of the objects to edit",
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
        """Return requests to detect the objects that steps change in the source and add in the edit."""
        source, steps = inputs.source, inputs.sample.steps
        if not steps:
            raise NotMeasurable("the sample has no steps that name the objects to edit")
        if self._detector is None:
            return ()
        queries = [ImageWithContext(source, step.old) for step in steps if _needs_detection(step)]
        queries += [ImageWithContext(inputs.edit_at_source_size(), name) for name in self._names_in_edit(steps)]
        return [FeatureRequest(self._detector, query) for query in queries]

    def _names_in_edit(self, steps: Sequence[InstructionStep]) -> list[str]:
        """Return the objects to find in the edit: those that steps add."""
        return [step.new for step in steps if step.new]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:
        source, edited = inputs.source.image, inputs.edit_at_source_size().image
        boxes = list(self._edited_boxes(inputs.sample.steps, features))
        found = measure_pixel_distance(source, edited, mask_outside_boxes(source.size, boxes))
        if found is None:
            raise NotMeasurable("the boxes cover the whole image")
        return dict(zip((value.name for value in self.info.values), (found.l1, found.l2), strict=True))

    def _edited_boxes(self, steps: Sequence[InstructionStep], features: Sequence[FeatureArray]) -> Iterator[Box]:
        found: Iterator[list[Box]] = iter([[*map(tuple, boxes.tolist())] for boxes in features])
        for step in steps:
            yield from step.boxes
            if not _needs_detection(step):
                continue
            boxes = next(found, [])
            # An object that an earlier step adds is not in the source.
            if not boxes and not step.needs:
                if self._detector is None:
                    raise NotMeasurable(_NO_BOX, step.old)
                raise NotMeasurable("the detector does not find the object to change", step.old)
            yield from boxes
        for boxes in found:
            yield from boxes


class OutsideAllBoxes(OutsideBoxes):
    """L1 and L2 outside the union of equation 9: the boxes of all edited objects, in the source and in the edit."""

    info = replace(
        OutsideBoxes.info,
        name="outside_all",
        title="change of pixels outside all boxes of the objects, in source and edit (equation 9)",
        values=tuple(replace(value, name=f"{value.name}_all") for value in OutsideBoxes.info.values),
    )

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        if self._detector is None:
            raise NotMeasurable("finding objects in the edit needs a detector: `metric_models` boxes=MODEL")
        return super().required_features(inputs)

    def _names_in_edit(self, steps: Sequence[InstructionStep]) -> list[str]:
        """Return the objects to find in the edit: those that steps change or add."""
        return list(dict.fromkeys(name for step in steps for name in (step.old, step.new) if name))


def _needs_detection(step: InstructionStep) -> bool:
    """Return True if a step changes an object that has a name but no box."""
    return bool(step.old) and not step.boxes
