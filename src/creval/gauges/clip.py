"""How near pictures and texts are to each other, for a model that embeds both (CLIP, SigLIP)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.images import open_image
from creval.core.sample import CAPTIONS, Sample
from creval.gauges.gauge import Gauge, Unmeasured
from creval.gauges.models import Model, text_length

Vector = NDArray[np.float64]


DEFAULT = "openai/clip-vit-base-patch32"


class Clip:
    """A model of the families CLIP and SigLIP, from the hub or a folder; its vectors have length 1.

    It is loaded when first used. Several threads may share it; it works for one at a time.
    """

    def __init__(self, model: str = DEFAULT) -> None:
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


class ClipScores(Gauge):
    """How near an edit is to its source, and how far it went the way from one caption to the other.

    The second only where a sample has captions of its source and of its target.
    """

    uses = ("clip",)

    def __init__(self, models: Mapping[str, str]) -> None:
        model = models.get("clip", DEFAULT)
        self.name = f"clip@{model}"
        self._clip = Clip(model)
        self._text = lru_cache(maxsize=4096)(self._clip.text)
        # Systems' edits of one source follow each other.
        self._source = lru_cache(maxsize=64)(lambda path: self._clip.image(open_image(path)))

    def measure(self, sample: Sample, edit: Path) -> dict[str, float]:
        if sample.source is None:
            raise Unmeasured("there is no source to compare with")
        source, edited = self._source(sample.source), self._clip.image(open_image(edit))
        values = {"CLIP_img": image_similarity(source, edited)}
        if sample.captions.keys() >= CAPTIONS:
            texts = (self._text(sample.captions[name]) for name in ("source", "target"))
            direction = directional_similarity(source, edited, *texts)
            if direction is not None:
                values["CLIP_dir"] = direction
        return values


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
