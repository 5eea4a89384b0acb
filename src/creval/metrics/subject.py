"""Whether the subject of a reference is in an edit: cos of DINOv2's vectors.

A picture's vector is the mean of all its tokens of the last layer, the class token among them;
where there is a mask, what lies outside its region is painted white first (ICE-Bench's DINO-ref).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelInfo, ModelPool
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureExtractor, FeatureRequest, cosine_similarity
from creval.metrics.metric_inputs import LazyImage, MetricInputs
from creval.metrics.model_loading import TransformersModel, check_processor_shapes, model_identity

MODEL = ModelInfo(
    "subject", "facebook/dinov2-giant", 4550, "Apache-2.0", "https://huggingface.co/facebook/dinov2-giant"
)


class Dino(FeatureExtractor):
    """A vision transformer such as DINO or DINOv2, from the hub or a folder."""

    batch_size = 8

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"tokens:{model_identity(self.model)}"
        self._model: TransformersModel = TransformersModel(
            self.model, "AutoModel", explicit=model is not None, processor_class="AutoImageProcessor"
        )

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        images = [thing.image for thing in items if isinstance(thing, LazyImage)]
        with self._model.session() as (processor, model):
            check_processor_shapes(processor, images)
            inputs = processor(images=images, return_tensors="pt").to(model.device)
            made = model(**inputs).last_hidden_state.mean(dim=1)
            return list(made.cpu().numpy().astype(np.float32))


class SubjectSimilarity(ImageMetric):
    """How alike the edit, or its edited region, and the first reference are."""

    info = MetricInfo(
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

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self._dino = pool.get_or_create(Dino, pool.chosen_model("subject"))

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        images = (inputs.reference, inputs.masked_edit())
        return [FeatureRequest(self._dino, image) for image in images]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"subject": cosine_similarity(*features)}
