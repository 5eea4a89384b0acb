"""How far an edit is from its source in layout, content and colour as people see it (DreamSim).

DreamSim = 1 - cos(edit, source) of vectors that networks tuned on people's choices make of images of 224 x 224.
Networks, their weights and the scaling of images are those of the package dreamsim.
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
    "MIT (DINO, which it is made of as well, Apache-2.0)",
    "https://github.com/ssundaram21/dreamsim",
    origin="library",
    file="",
)
VARIANTS = ("ensemble", "dino_vitb16", "dinov2_vitb14", "clip_vitb32", "open_clip_vitb32", "synclr_vitb16")


class DreamSimNetwork(ModelExtractor):
    """The package's model, by the name of a variant or from a folder with the ensemble's weights."""

    info, kind, batch_size = MODEL, "dreamsim", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        torch, model, preprocess, device = self._model.get()
        with torch.inference_mode():
            made = [model.embed(preprocess(image).to(device)) for image in images_of(items)]
        return [np.asarray(vector.float().cpu().numpy(), dtype=np.float32).reshape(-1) for vector in made]

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
            with warnings.catch_warnings():  # it puts on its adapter twice
                warnings.simplefilter("ignore")
                model, preprocess = library.dreamsim(
                    pretrained=True, device=device, cache_dir=str(folder), dreamsim_type=variant
                )
        except Exception as error:  # it downloads, and reads what it downloaded
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"dreamsim cannot load {self.model}: {reason}") from error
        finally:
            torch.hub.set_dir(hub)  # it moves this, where others look for their weights
        return torch, model, preprocess, device


class DreamSim(ModelMetric):
    """DreamSim of edit and source."""

    info = MetricInfo(
        "dreamsim",
        "how far layout, content and colour of the edit are from its source's",
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
