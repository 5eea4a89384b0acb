"""Distance between the depth of an edit and the depth map that the edit should follow.

A model estimates the edit's depth. The depths are rescaled to 0 to 255. The distance is mean |control in grey - depth|
/ 255. The image is scaled to the size that the model was trained on, 384 x 384 for MiDaS. ICE-Bench's release does not
scale it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo
from creval.metrics.control_maps import ControlModelMetric, GreyMap, control_distance, edit_control_pairs
from creval.metrics.features import ExtractorInput, FeatureArray, TransformersExtractor
from creval.metrics.metric_inputs import NonFiniteResult
from creval.metrics.model_loading import ModelInfo

MODEL = ModelInfo("depth", "Intel/dpt-hybrid-midas", 490, "Apache-2.0", "https://huggingface.co/Intel/dpt-hybrid-midas")


class DepthModel(TransformersExtractor):
    """A depth model. Its feature is the distance between an edit's depth map (near is light) and the control image."""

    info, kind, batch_size = MODEL, "depth-distance", 4
    model_class = "AutoModelForDepthEstimation"

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        edits = edit_control_pairs(items)
        with self.session() as (processor, model):
            depths = _predict_depths(processor, model, [edit for edit, _ in edits])
            maps = zip(edits, depths, strict=True)
            return [
                np.array([control_distance(control, _to_grey_map(depth, control.size))]) for (_, control), depth in maps
            ]

    def estimate_depth(self, image: Image.Image) -> GreyMap:
        """Return the depth map of an image, in the image's size."""
        with self.session() as (processor, model):
            (depth,) = _predict_depths(processor, model, [image])
            try:
                return _to_grey_map(depth, image.size)
            except NonFiniteResult as error:
                raise CrevalError(f"{self.model}: {error}") from error


def _predict_depths(processor: Any, model: Any, images: Sequence[Image.Image]) -> list[Any]:
    """Return the depth of each image in the model's resolution. Inputs of the same shape form one batch."""
    torch = import_module("torch")
    inputs = [processor(images=image, return_tensors="pt") for image in images]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(inputs):
        alike.setdefault(tuple((name, one[name].shape) for name in one), []).append(at)
    found: dict[int, Any] = {}
    for some in alike.values():
        together = {n: torch.cat([inputs[at][n] for at in some]) for n in inputs[some[0]]}
        given = {name: values.to(model.device) for name, values in together.items()}
        found |= zip(some, model(**given).predicted_depth.float(), strict=True)
    return [found[at] for at in range(len(images))]


def _to_grey_map(depth: Any, size: tuple[int, int]) -> GreyMap:
    """Return a depth map scaled to an image's size, with values rescaled to 0 to 255."""
    wide = import_module("torch").nn.functional.interpolate(
        depth[None, None], size[::-1], mode="bicubic", align_corners=False
    )
    found = wide[0, 0].cpu().numpy()
    low, high = float(found.min()), float(found.max())
    if not math.isfinite(high - low):
        raise NonFiniteResult
    levels = (found - low) / (high - low) * 255.0 if high > low else np.zeros_like(found)
    return np.asarray(np.clip(levels, 0, 255), dtype=np.uint8)


class DepthDistance(ControlModelMetric):
    """The mean absolute difference between the depth of the edit and the control image."""

    info = MetricInfo(
        "depth",
        "distance of the edit's depth from the control image's",
        (Metric("depth", "mean absolute difference of depth", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Ranftl et al., arXiv 1907.01341; ICE-Bench",
    )
    extractor_class = DepthModel
