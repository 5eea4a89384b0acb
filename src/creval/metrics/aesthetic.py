"""Aesthetic quality of an edit by Aesthetic Predictor V2.5: about 1 to 10; values above 5.5 are high.

The image is scaled to a height of 1024 pixels and embedded by SigLIP. A head of five linear layers turns the vector
into a score. The author of the predictor publishes the head as a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric, ModelPool
from creval.metrics.checkpoints import find_weights, load_weights
from creval.metrics.features import ExtractorInput, FeatureArray, TransformersExtractor, images_of, unit_vectors
from creval.metrics.metric_inputs import HEIGHT, MetricInputs, resize_to_height
from creval.metrics.model_loading import Lazy, ModelInfo
from creval.providers.huggingface import DependencyMissing

HEAD_FILE = "aesthetic_predictor_v2_5.pth"
_HOME = "https://github.com/discus0434/aesthetic-predictor-v2-5"
HEAD = ModelInfo("aesthetic", HEAD_FILE, 6, "AGPL-3.0", f"{_HOME}/tree/main/models", "given")
SIGLIP = ModelInfo(
    "siglip",
    "google/siglip-so400m-patch14-384",
    3510,
    "Apache-2.0",
    "https://huggingface.co/google/siglip-so400m-patch14-384",
)
Layer = tuple[NDArray[np.float64], NDArray[np.float64]]


class Siglip(TransformersExtractor):
    """SigLIP's image encoder. All images are scaled to the same height. Vectors have length 1."""

    info, kind, batch_size = SIGLIP, f"siglip-{HEIGHT}", 8
    model_class = "SiglipVisionModel"

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        images = [resize_to_height(image) for image in images_of(items)]
        with self.session() as (processor, model):
            inputs = processor(images=images, return_tensors="pt").to(model.device)
            return unit_vectors(model(**inputs).pooler_output.cpu().numpy())


class AestheticScore(ModelMetric):
    """The score of Aesthetic Predictor V2.5, not rescaled to [0, 1]."""

    info = MetricInfo(
        "aesthetic",
        "aesthetic quality of the edit, by a predictor trained on human ratings",
        (Metric("aesthetic", "Aesthetic Predictor V2.5", 0.0, 10.0),),
        "points",
        models=(HEAD, SIGLIP),
        extra="local",
        packages=("torch", "transformers"),
        paper=f"{_HOME}; ICE-Bench",
    )
    extractor_class = Siglip

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self._head = pool.chosen_model("aesthetic")
        self._layers = Lazy(self._load, explicit=self._head is not None)

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        self._layers.get()  # fail before the large model is loaded
        return [inputs.edit]

    def value(self, features: Sequence[FeatureArray]) -> float:
        values = features[0].astype(np.float64)
        for weight, bias in self._layers.get():
            if weight.shape[1] != values.size:
                raise CrevalError(
                    f"{self._head} expects vectors of {weight.shape[1]} values, but "
                    f"{self.extractor.model} returns {values.size}. Give the SigLIP model that the head was trained on."
                )
            values = weight @ values + bias
        return float(values[0])

    def _load(self) -> list[Layer]:
        if self._head is None:
            raise DependencyMissing(
                f"the predictor's head is missing: download {HEAD_FILE} (AGPL-3.0, 6 MB) from "
                f"{_HOME} and give `metric_models` aesthetic=FILE"
            )
        path = find_weights(self._head, (HEAD_FILE,))
        return _read_layers(load_weights(path), str(path))


def _read_layers(weights: Mapping[str, Any], where: str) -> list[Layer]:
    """Return the linear layers of a head, in order."""
    numbers = sorted({int(part) for name in weights for part in name.split(".") if part.isdigit()})
    layers = []
    for number in numbers:
        names = [f"scoring_head.{number}.{kind}" for kind in ("weight", "bias")]
        if not weights.keys() >= set(names):
            break
        weight, bias = (weights[name].float().numpy().astype(np.float64) for name in names)
        layers.append((weight, bias))
    if not layers or layers[-1][0].shape[0] != 1 or len(layers) != len(numbers):
        raise CrevalError(f"{where} is not a head of Aesthetic Predictor V2.5.")
    return layers
