"""Similarity of the subjects of an edit and its reference: cosine of DINOv2 vectors (ICE-Bench's DINO-ref).

The vector of an image is the mean of all tokens of the last layer, including the class token. If there is a
mask, the area outside its region is painted white first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.features import ExtractorInput, FeatureArray, TransformersExtractor, images_of
from creval.metrics.metric_inputs import MetricInputs
from creval.metrics.model_loading import ModelInfo, check_processor_shapes

MODEL = ModelInfo(
    "subject", "facebook/dinov2-giant", 4550, "Apache-2.0", "https://huggingface.co/facebook/dinov2-giant"
)


class Dino(TransformersExtractor):
    """A vision transformer such as DINO or DINOv2, from the hub or a folder."""

    info, kind, batch_size = MODEL, "tokens", 8

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        images = images_of(items)
        with self.session() as (processor, model):
            check_processor_shapes(processor, images)
            inputs = processor(images=images, return_tensors="pt").to(model.device)
            vectors = model(**inputs).last_hidden_state.mean(dim=1)
            return list(vectors.cpu().numpy().astype(np.float32))


class SubjectSimilarity(ModelMetric):
    """The similarity of the edit, or its masked region, and the first reference."""

    info = MetricInfo(
        "subject",
        "similarity of the subjects of edit and reference",
        (Metric("subject", "cosine of edit and reference", -1.0, 1.0),),
        "cosine",
        needs=("reference", "mask"),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Oquab et al., arXiv 2304.07193; ICE-Bench",
    )
    extractor_class = Dino

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.reference, inputs.masked_edit()]
