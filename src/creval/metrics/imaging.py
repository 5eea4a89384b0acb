"""How well an edit is imaged (blur, noise, distortion), for MUSIQ trained on KonIQ: 0 to 100.

The picture is scaled to a height of 1024 before. The network and its weights are pyiqa's, which are not for
commercial use; what Google allows with the weights that these were made from is not confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo, ModelInfo, ModelPool
from creval.metrics.checkpoints import find_safe_weights
from creval.metrics.features import ExtractorInput, FeatureArray, FeatureExtractor, FeatureRequest
from creval.metrics.metric_inputs import HEIGHT, LazyImage, MetricInputs, resize_to_height
from creval.metrics.model_loading import Lazy, import_library, model_identity
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "imaging",
    "musiq",
    109,
    "CC-BY-NC-SA-4.0, as pyiqa publishes it",
    "https://huggingface.co/chaofengc/IQA-PyTorch-Weights",
    origin="library",
    file="",
)
_WEIGHT_FILES = ("musiq_koniq_ckpt-e95806b9.pth",)


class Musiq(FeatureExtractor):
    """pyiqa's MUSIQ, with the weights that it downloads or those of a file; it makes one number."""

    batch_size = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"musiq-{HEIGHT}:{model_identity(self.model)}"
        self._weights = model
        self._model = Lazy(self._load, explicit=model is not None)

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, musiq = self._model.get()
        images = [resize_to_height(thing.image) for thing in items if isinstance(thing, LazyImage)]
        with torch.inference_mode():
            made = [float(musiq(torch.from_numpy(_to_tensor(image)))) for image in images]
        return [np.array([one], dtype=np.float64) for one in made]

    def _load(self) -> tuple[Any, Any]:
        torch = import_library("torch", "quality", "MUSIQ")
        pyiqa = import_library("pyiqa", "quality", "MUSIQ")
        given = {}
        if self._weights is not None:
            given["pretrained_model_path"] = str(find_safe_weights(self._weights, _WEIGHT_FILES))
        try:
            return torch, pyiqa.create_metric("musiq", device=best_device(torch), **given)
        except Exception as error:  # it downloads, and reads what it downloaded
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"pyiqa cannot load {self._weights or 'MUSIQ'}: {reason}") from error


def _to_tensor(image: Image.Image) -> Any:
    pixels = np.asarray(image, dtype=np.float32) / 255
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))[None]


class ImagingQuality(ImageMetric):
    """MUSIQ's number, as it comes."""

    info = MetricInfo(
        "imaging",
        "how free of blur, noise and distortion the edit is",
        (Metric("imaging", "MUSIQ (KonIQ)", 0.0, 100.0),),
        "points",
        models=(MODEL,),
        extra="quality",
        packages=("torch", "pyiqa"),
        licence="pyiqa is under PolyForm Noncommercial 1.0.0",
        paper="Ke et al., arXiv 2108.05997; ICE-Bench",
    )

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self._musiq = pool.get_or_create(Musiq, pool.chosen_model("imaging"))

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        return [FeatureRequest(self._musiq, inputs.edit)]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"imaging": float(features[0][0])}
