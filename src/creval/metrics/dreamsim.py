"""Perceptual distance between an edit and its source in layout, content and colour (DreamSim).

DreamSim = 1 - cos(edit, source) of vectors from networks tuned on human choices, for images of 224 x 224.
Networks, weights and the scaling of images come from the package dreamsim.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from creval.core.cache import cache_folder
from creval.core.errors import CrevalError, require_known
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor, cosine_similarity, images_of
from creval.metrics.metric_inputs import MetricInputs
from creval.metrics.model_loading import ModelInfo, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "dreamsim",
    "ensemble",
    1200,
    "MIT (DINO, which is part of it: Apache-2.0)",
    "https://github.com/ssundaram21/dreamsim",
    origin="library",
    file="",
)
VARIANTS = ("ensemble", "dino_vitb16", "dinov2_vitb14", "clip_vitb32", "open_clip_vitb32", "synclr_vitb16")


class DreamSimNetwork(ModelExtractor):
    """A model of the package dreamsim: a variant by name, or a folder with the ensemble's weights."""

    info, kind, batch_size = MODEL, "dreamsim", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, model, preprocess, device = self._model.get()
        with torch.inference_mode():
            vectors = [model.embed(preprocess(image).to(device)) for image in images_of(items)]
        return [np.asarray(vector.float().cpu().numpy(), dtype=np.float32).reshape(-1) for vector in vectors]

    def _load(self) -> tuple[Any, Any, Any, str]:
        torch = import_library("torch", "perceptual", "DreamSim")
        library = import_library("dreamsim", "perceptual", "DreamSim")
        folder, variant = cache_folder() / "dreamsim", self.model
        if Path(self.model).is_dir():
            folder, variant = Path(self.model), MODEL.default
        require_known("variant of DreamSim", variant, VARIANTS)
        device, hub = str(best_device(torch)), torch.hub.get_dir()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with warnings.catch_warnings():  # it warns about attaching its adapter twice
                warnings.simplefilter("ignore")
                model, preprocess = library.dreamsim(
                    pretrained=True, device=device, cache_dir=str(folder), dreamsim_type=variant
                )
        except Exception as error:  # it downloads and parses files, so any error can occur
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"dreamsim cannot load {self.model}: {reason}") from error
        finally:
            torch.hub.set_dir(hub)  # it changes this directory, where other models find their weights
        return torch, model, preprocess, device


class DreamSim(ModelMetric):
    """The DreamSim distance between edit and source."""

    info = MetricInfo(
        "dreamsim",
        "perceptual distance from the source in layout, content and colour",
        (Metric("dreamsim", "DreamSim of edit and source", 0.0, 1.0, higher_is_better=False),),
        "distance",
        needs=("source",),
        models=(MODEL,),
        extra="perceptual",
        packages=("torch", "dreamsim"),
        paper="Fu et al., arXiv 2306.09344",
    )
    extractor_class = DreamSimNetwork

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.source, inputs.edit]

    def value(self, features: Sequence[FeatureArray]) -> float:
        return 1 - cosine_similarity(*features)
