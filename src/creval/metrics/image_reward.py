"""Predicted human rating of an edit as an image of its target caption (ImageReward).

The reward is mostly between -2 and 2: its authors normalised it over their data. Network and computation come from the
package image-reward. The caption is truncated to 35 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.checkpoints import find_safe_weights, find_weights
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor
from creval.metrics.metric_inputs import ImageWithContext, MetricInputs
from creval.metrics.model_loading import ModelInfo, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "image_reward",
    "THUDM/ImageReward",
    1790,
    "Apache-2.0",
    "https://github.com/THUDM/ImageReward",
    file="ImageReward.pt",
)
_CONFIG_FILE = "med_config.json"


class RewardModel(ModelExtractor):
    """ImageReward's model, from the hub or a folder. Returns the reward of an image for a text."""

    info, kind, batch_size = MODEL, "image-reward", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, model = self._model.get()
        with torch.inference_mode():
            rewards = [
                model.score(item.context, item.image)
                for item in items
                if isinstance(item, ImageWithContext) and isinstance(item.context, str)
            ]
        return [np.array([float(reward)], dtype=np.float64) for reward in rewards]

    def _load(self) -> tuple[Any, Any]:
        torch = import_library("torch", "imagereward", "ImageReward")
        library = import_library("ImageReward", "imagereward", "ImageReward")
        weights = find_safe_weights(self.model, (MODEL.file,))
        folder = str(weights.parent) if Path(self.model).exists() else self.model
        config = find_weights(folder, (_CONFIG_FILE,))
        try:
            return torch, library.load(str(weights), device=str(best_device(torch)), med_config=str(config))
        except Exception as error:  # it parses the given files, so any error can occur
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"image-reward cannot load {self.model}: {reason}") from error


class ImageReward(ModelMetric):
    """The reward of the edit for its target caption."""

    info = MetricInfo(
        "image_reward",
        "predicted human rating of the edit as an image of its target caption",
        (Metric("image_reward", "ImageReward", -3.0, 3.0),),
        "reward",
        needs=("caption",),
        models=(MODEL,),
        extra="imagereward",
        packages=("torch", "ImageReward"),
        paper="Xu et al., arXiv 2304.05977",
    )
    extractor_class = RewardModel

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [ImageWithContext(inputs.edit, inputs.caption("target"))]
