"""How far the depth in an edit is from the depth map that it was to follow.

A model estimates the edit's depth, which is stretched to 0 to 255; the value is
mean |control in grey - depth| / 255. The model sees the picture in the size that it was trained on,
384 x 384 for MiDaS; ICE-Bench's release hands it over in its own size.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
from PIL import Image

from creval.core.card import Metric
from creval.gauges.card import GaugeCard, ModelCard
from creval.gauges.embedding import Embedder, Thing, Vector, Wish
from creval.gauges.exhibit import Exhibit, Picture
from creval.gauges.gauge import Gauge, Tools
from creval.gauges.grey import Grey, control_distance
from creval.gauges.models import Model, identity

MODEL = ModelCard(
    "depth", "Intel/dpt-hybrid-midas", 490, "Apache-2.0",
    "https://huggingface.co/Intel/dpt-hybrid-midas",
)  # fmt: skip


class DepthMap(Embedder):
    """A model that estimates depth, from the hub or a folder: near is light, in 0 to 255."""

    kept = False
    batch = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"depth:{identity(self.model)}"
        self._model = Model(
            self.model, "AutoModelForDepthEstimation", chosen=model is not None,
            processor="AutoImageProcessor",
        )  # fmt: skip

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        return [self._map(thing.image) for thing in things if isinstance(thing, Picture)]

    def _map(self, picture: Image.Image) -> Grey:
        torch = import_module("torch")
        with self._model.in_use() as (processor, model):
            inputs = processor(images=picture, return_tensors="pt").to(model.device)
            depth = model(**inputs).predicted_depth[None].float()
            depth = torch.nn.functional.interpolate(
                depth, (picture.height, picture.width), mode="bicubic", align_corners=False
            )
            found = depth[0, 0].cpu().numpy()
        low, high = float(found.min()), float(found.max())
        levels = (found - low) / (high - low) * 255.0 if high > low else np.zeros_like(found)
        return np.asarray(np.clip(levels, 0, 255), dtype=np.uint8)


class Depth(Gauge):
    """The mean absolute difference between two depth maps."""

    card = GaugeCard(
        "depth",
        "how far the edit's depth is from the control picture's",
        (Metric("depth", "mean absolute difference of depth", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        models=(MODEL,),
        extra="local",
        packages=("torch", "transformers"),
        paper="Ranftl et al., arXiv 1907.01341; ICE-Bench",
    )

    def __init__(self, tools: Tools) -> None:
        self._depth = tools.share(DepthMap, tools.chosen("depth"))
        self.name = f"depth@{self._depth.model}"

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._depth, exhibit.aligned())]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:
        return {"depth": control_distance(exhibit, made[0])}
