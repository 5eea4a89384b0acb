"""Technical image quality of an edit (blur, noise, distortion) by MUSIQ trained on KonIQ: 0 to 100.

The image is scaled to a height of 1024. Network and weights come from pyiqa and are not for commercial use.
The licence of Google's weights, which pyiqa's are derived from, is not confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.checkpoints import find_safe_weights
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor, images_of
from creval.metrics.metric_inputs import HEIGHT, MetricInputs, resize_to_height
from creval.metrics.model_loading import ModelInfo, import_library
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


class Musiq(ModelExtractor):
    """pyiqa's MUSIQ, with the weights that it downloads or weights from a file. Returns one number per image."""

    info, kind, batch_size = MODEL, f"musiq-{HEIGHT}", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, musiq = self._model.get()
        ratings = []
        for image in [resize_to_height(image) for image in images_of(items)]:
            pixels = np.asarray(image, dtype=np.float32) / 255
            with torch.inference_mode():
                rating = musiq(torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))[None]))
            ratings.append(np.array([float(rating)], dtype=np.float64))
        return ratings

    def _load(self) -> tuple[Any, Any]:
        torch = import_library("torch", "quality", "MUSIQ")
        pyiqa = import_library("pyiqa", "quality", "MUSIQ")
        given = {}
        if self._explicit:
            given["pretrained_model_path"] = str(find_safe_weights(self.model, _WEIGHT_FILES))
        try:
            return torch, pyiqa.create_metric("musiq", device=best_device(torch), **given)
        except Exception as error:  # it downloads and parses files, so any error can occur
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"pyiqa cannot load {self.model if self._explicit else 'MUSIQ'}: {reason}") from error


class ImagingQuality(ModelMetric):
    """MUSIQ's rating, not rescaled to [0, 1]."""

    info = MetricInfo(
        "imaging",
        "technical quality of the edit: free of blur, noise and distortion",
        (Metric("imaging", "MUSIQ (KonIQ)", 0.0, 100.0),),
        "points",
        models=(MODEL,),
        extra="quality",
        packages=("torch", "pyiqa"),
        licence="pyiqa is under PolyForm Noncommercial 1.0.0",
        paper="Ke et al., arXiv 2108.05997; ICE-Bench",
    )
    extractor_class = Musiq

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.edit]
