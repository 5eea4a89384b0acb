"""Detection of named objects in an image by a zero-shot detector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.sample import Box
from creval.metrics.features import ExtractorInput, FeatureArray, TransformersExtractor
from creval.metrics.metric_inputs import ImageWithContext
from creval.metrics.model_loading import max_text_tokens


class ObjectDetector(TransformersExtractor):
    """A thread-safe detector of objects: Grounding DINO, OWL-ViT or OWLv2.

    Its feature is an array with one row for each box of the named object.
    """

    batch_size = 1
    model_class, processor_class = "AutoModelForZeroShotObjectDetection", "AutoProcessor"

    def __init__(self, model: str, threshold: float = 0.3) -> None:
        self.threshold, self.kind = threshold, f"boxes-{threshold}"
        super().__init__(model)

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        found = []
        for item in items:
            assert isinstance(item, ImageWithContext)  # noqa: S101
            name = str(item.context)
            boxes = self.find_boxes(item.image, [name])[name]
            found.append(np.array(boxes, dtype=np.float64).reshape(-1, 4))
        return found

    def find_boxes(self, image: Image.Image, names: Sequence[str]) -> dict[str, list[Box]]:
        """Return the boxes whose score exceeds the threshold, by name, best first.

        Boxes are clipped to the image. They may overlap.
        """
        if not names:
            return {}
        image = image.convert("RGB")
        with self.session() as (processor, model):
            return {name: _detect_boxes(processor, model, image, name, self.threshold) for name in dict.fromkeys(names)}


def _detect_boxes(processor: Any, model: Any, image: Image.Image, name: str, threshold: float) -> list[Box]:
    # One name per call, so that every returned box belongs to it: Grounding DINO separates phrases by
    # dots and may join or split them, and the OWL models assign each box to one name only.
    inputs = processor(
        images=image,
        text=[[name.replace(".", " ").strip()]],
        return_tensors="pt",
        truncation=True,
        max_length=max_text_tokens(processor, model),
    ).to(model.device)
    width, height = image.size
    (found,) = processor.post_process_grounded_object_detection(
        model(**inputs), threshold=threshold, target_sizes=[(height, width)]
    )
    order = found["scores"].argsort(descending=True, stable=True)
    clipped = (
        (max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height)))
        for left, top, right, bottom in found["boxes"][order].tolist()
    )
    return [box for box in clipped if box[0] < box[2] and box[1] < box[3]]
