"""Distance between an edit and its source in features of a network calibrated on human judgements (LPIPS).

Network, calibration and computation come from the package lpips, with version 0.1 of its weights. Images are
compared in the source's size, with values from -1 to 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError, require_known
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.control_maps import edit_control_pairs
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor
from creval.metrics.metric_inputs import ImageWithContext, MetricInputs, NotMeasurable
from creval.metrics.model_loading import ModelInfo, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "lpips",
    "alex",
    233,
    "BSD-2-Clause (its trunk, torchvision's AlexNet, BSD-3-Clause)",
    "https://github.com/richzhang/PerceptualSimilarity",
    origin="library",
    file=".cache/torch/hub/checkpoints/alexnet-owt-7be5be79.pth",
)
NETWORKS = ("alex", "vgg", "squeeze")
_MIN_SIDE = 64  # pixels; smaller images have one value or none in the deepest features


class LpipsNetwork(ModelExtractor):
    """A network of the package lpips: `alex`, `vgg` or `squeeze`. Returns the distance between two images."""

    info, kind, batch_size = MODEL, "lpips-0.1", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, network, device = self._model.get()
        distances = []
        for edit, source in edit_control_pairs(items):
            if min(source.size) < _MIN_SIDE:
                raise NotMeasurable(f"a side of the source has fewer than {_MIN_SIDE} pixels")
            with torch.inference_mode():
                pair = [torch.from_numpy(_to_input(image)).to(device) for image in (edit, source)]
                distances.append(np.array([float(network(*pair))], dtype=np.float64))
        return distances

    def _load(self) -> tuple[Any, Any, str]:
        torch = import_library("torch", "perceptual", "LPIPS")
        lpips = import_library("lpips", "perceptual", "LPIPS")
        require_known("network of LPIPS", self.model, NETWORKS)
        device = str(best_device(torch))
        try:
            with warnings.catch_warnings():  # lpips uses a deprecated argument of torchvision
                warnings.simplefilter("ignore")
                return torch, lpips.LPIPS(net=self.model, verbose=False).to(device).eval(), device
        except Exception as error:  # it downloads and parses files, so any error can occur
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"lpips cannot load {self.model}: {reason}") from error


def _to_input(image: Image.Image) -> Any:
    pixels = np.asarray(image, dtype=np.float32).transpose(2, 0, 1)[None]
    return np.ascontiguousarray(pixels / 127.5 - 1)


class Lpips(ModelMetric):
    """The LPIPS distance between edit and source."""

    info = MetricInfo(
        "lpips",
        "perceptual distance of the edit from its source",
        (Metric("lpips", "LPIPS of edit and source", 0.0, 1.0, higher_is_better=False),),
        "distance",
        needs=("source",),
        models=(MODEL,),
        extra="perceptual",
        packages=("torch", "lpips"),
        paper="Zhang et al., arXiv 1801.03924",
    )
    extractor_class = LpipsNetwork

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [ImageWithContext(inputs.edit_at_source_size(), inputs.source)]
