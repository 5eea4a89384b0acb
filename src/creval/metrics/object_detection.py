"""Where named objects are in a picture, found by a zero-shot detector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.sample import Box
from creval.metrics.embeddings import Embedder, Thing, Vector
from creval.metrics.inputs import Beside
from creval.metrics.model_loading import Model, identity, text_length


class Detector(Embedder):
    """A detector of the families Grounding DINO, OWL-ViT and OWLv2, from the hub or a folder.

    Several threads may share it; it works for one at a time. Of a picture beside the name of an
    object it makes a box a row.
    """

    batch = 1

    def __init__(self, model: str, threshold: float = 0.3) -> None:
        self.threshold = threshold
        self.name = f"boxes-{threshold}:{identity(model)}"
        self._model: Model = Model(model, "AutoModelForZeroShotObjectDetection", chosen=True)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        made = []
        for thing in things:
            assert isinstance(thing, Beside)  # noqa: S101
            name = str(thing.other)
            boxes = self.find(thing.image, [name])[name]
            made.append(np.array(boxes, dtype=np.float64).reshape(-1, 4))
        return made

    def find(self, picture: Image.Image, names: Sequence[str]) -> dict[str, list[Box]]:
        """The boxes of each name that score above the threshold, best first.

        They are clipped to the picture, and may overlap.
        """
        if not names:
            return {}
        picture = picture.convert("RGB")
        with self._model.in_use() as (processor, model):
            return {
                name: _boxes(processor, model, picture, name, self.threshold)
                for name in dict.fromkeys(names)
            }


def _boxes(
    processor: Any, model: Any, picture: Image.Image, name: str, threshold: float
) -> list[Box]:
    # One name a call: Grounding DINO tells phrases apart by dots and may join or split them, and
    # the OWLs give a box to one name only. So every box that comes back belongs to this name.
    inputs = processor(
        images=picture, text=[[name.replace(".", " ").strip()]], return_tensors="pt",
        truncation=True, max_length=text_length(processor, model),
    ).to(model.device)  # fmt: skip
    width, height = picture.size
    (found,) = processor.post_process_grounded_object_detection(
        model(**inputs), threshold=threshold, target_sizes=[(height, width)]
    )
    order = found["scores"].argsort(descending=True, stable=True)
    clipped = (
        (max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height)))
        for left, top, right, bottom in found["boxes"][order].tolist()
    )
    return [box for box in clipped if box[0] < box[2] and box[1] < box[3]]
