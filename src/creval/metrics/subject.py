"""Whether the subject of a reference is in an edit: cos of DINOv2's vectors.

A picture's vector is the mean of all its tokens of the last layer, the class token among them;
where there is a mask, what lies outside its region is painted white first (ICE-Bench's DINO-ref).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish, cosine
from creval.metrics.inputs import Exhibit, Picture
from creval.metrics.model_loading import Model, check_shapes, identity

MODEL = ModelCard(
    "subject", "facebook/dinov2-giant", 4550, "Apache-2.0",
    "https://huggingface.co/facebook/dinov2-giant",
)  # fmt: skip


class Dino(Embedder):
    """A vision transformer such as DINO or DINOv2, from the hub or a folder."""

    batch = 8

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"tokens:{identity(self.model)}"
        self._model: Model = Model(
            self.model, "AutoModel", chosen=model is not None, processor="AutoImageProcessor"
        )

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        pictures = [thing.image for thing in things if isinstance(thing, Picture)]
        with self._model.in_use() as (processor, model):
            check_shapes(processor, pictures)
            inputs = processor(images=pictures, return_tensors="pt").to(model.device)
            made = model(**inputs).last_hidden_state.mean(dim=1)
            return list(made.cpu().numpy().astype(np.float32))


class Subject(Gauge):
    """How alike the edit, or its edited region, and the first reference are."""

    card = GaugeCard(
        "subject",
        "how alike the subjects of edit and reference are",
        (Metric("subject", "cosine of edit and reference", -1.0, 1.0),),
        "cosine",
        needs=("reference", "mask"),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Oquab et al., arXiv 2304.07193; ICE-Bench",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._dino = tools.share(Dino, tools.chosen("subject"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        pictures = (exhibit.reference, exhibit.edited_region())
        return [Wish(self._dino, picture) for picture in pictures]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"subject": cosine(*made)}
