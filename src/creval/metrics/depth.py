"""How far the depth in an edit is from the depth map that it was to follow.

A model estimates the edit's depth, which is stretched to 0 to 255; the value is
mean |control in grey - depth| / 255. The model sees the picture in the size that it was trained on,
384 x 384 for MiDaS; ICE-Bench's release hands it over in its own size.
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
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.control_maps import Grey, beside_control, control_distance, with_controls
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish
from creval.metrics.inputs import Exhibit, NoNumber
from creval.metrics.model_loading import Model, identity

MODEL = ModelCard(
    "depth", "Intel/dpt-hybrid-midas", 490, "Apache-2.0",
    "https://huggingface.co/Intel/dpt-hybrid-midas",
)  # fmt: skip


class DepthMap(Embedder):
    """A model that estimates depth, from the hub or a folder: how far its map of an edit, in which
    near is light, is from a control."""

    batch = 4

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"depth-distance:{identity(self.model)}"
        self._model: Model = Model(
            self.model, "AutoModelForDepthEstimation", chosen=model is not None,
            processor="AutoImageProcessor",
        )  # fmt: skip

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        edits = with_controls(things)
        with self._model.in_use() as (processor, model):
            made = _depths(processor, model, [edit for edit, _ in edits])
            maps = zip(edits, made, strict=True)
            return [
                np.array([control_distance(control, _stretched(depth, control.size))])
                for (_, control), depth in maps
            ]

    def map_of(self, picture: Image.Image) -> Grey:
        """A picture's depth, in its size."""
        with self._model.in_use() as (processor, model):
            (depth,) = _depths(processor, model, [picture])
            try:
                return _stretched(depth, picture.size)
            except NoNumber as error:
                raise CrevalError(f"{self.model}: {error}") from error


def _depths(processor: Any, model: Any, pictures: Sequence[Image.Image]) -> list[Any]:
    """The depth in each picture, in the model's own size; those that it sees in one size go through
    it together."""
    torch = import_module("torch")
    inputs = [processor(images=picture, return_tensors="pt") for picture in pictures]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for at, one in enumerate(inputs):
        alike.setdefault(tuple((name, one[name].shape) for name in one), []).append(at)
    found: dict[int, Any] = {}
    for some in alike.values():
        together = {n: torch.cat([inputs[at][n] for at in some]) for n in inputs[some[0]]}
        given = {name: values.to(model.device) for name, values in together.items()}
        found |= zip(some, model(**given).predicted_depth.float(), strict=True)
    return [found[at] for at in range(len(pictures))]


def _stretched(depth: Any, size: tuple[int, int]) -> Grey:
    """A map of depth in a picture's size, from 0 to 255."""
    wide = import_module("torch").nn.functional.interpolate(
        depth[None, None], size[::-1], mode="bicubic", align_corners=False
    )
    found = wide[0, 0].cpu().numpy()
    low, high = float(found.min()), float(found.max())
    if not math.isfinite(high - low):
        raise NoNumber
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
        super().__init__(tools)
        self._depth = tools.share(DepthMap, tools.chosen("depth"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._depth, beside_control(exhibit))]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"depth": float(made[0][0])}
