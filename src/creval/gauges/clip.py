"""How near pictures and texts are to each other, for a model that embeds both (CLIP, SigLIP)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.gauges.models import Model, text_length

Vector = NDArray[np.float64]


class Clip:
    """A model of the families CLIP and SigLIP, from the hub or a folder; its vectors have length 1.

    It is loaded when first used. Several threads may share it; it works for one at a time.
    """

    def __init__(self, model: str = "openai/clip-vit-base-patch32") -> None:
        self._model = Model(model, "AutoModel", "get_text_features")

    def image(self, picture: Image.Image) -> Vector:
        with self._model.in_use() as (processor, model):
            inputs = processor(images=picture.convert("RGB"), return_tensors="pt")
            return _unit(model.get_image_features(**inputs.to(model.device)))

    def text(self, words: str) -> Vector:
        """The vector of a text, cut where the model's text ends (77 tokens for CLIP)."""
        with self._model.in_use() as (processor, model):
            # SigLIP was trained on texts filled up; what follows the end is nothing to CLIP.
            inputs = processor(
                text=[words], return_tensors="pt", padding="max_length", truncation=True,
                max_length=text_length(processor, model),
            )  # fmt: skip
            return _unit(model.get_text_features(**inputs.to(model.device)))


def image_similarity(source: Vector, edit: Vector) -> float:
    """The cosine between two pictures' vectors."""
    return _cosine(source, edit)


def directional_similarity(
    source: Vector, edit: Vector, source_text: Vector, target_text: Vector
) -> float | None:
    """cos(edit - source, target_text - source_text); none where nothing changed in one of them."""
    change, wanted = edit - source, target_text - source_text
    return _cosine(change, wanted) if change.any() and wanted.any() else None


def _cosine(a: Vector, b: Vector) -> float:
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0))


def _unit(features: Any) -> Vector:
    found: Vector = features.pooler_output[0].cpu().numpy().astype(np.float64)
    return found / np.linalg.norm(found)
