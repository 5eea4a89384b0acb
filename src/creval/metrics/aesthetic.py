"""How beautiful an edit is, for Aesthetic Predictor V2.5: about 1 to 10, above 5.5 is much.

A SigLIP makes a vector of the picture, scaled to a height of 1024 before; a head of five linear
layers, which its author publishes as a file, makes a number of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import MOST_PIXELS
from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.checkpoints import find_weights, load_weights
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish, units
from creval.metrics.inputs import Exhibit, Picture, Unmeasured, scaled
from creval.metrics.model_loading import Late, Model, identity
from creval.providers.huggingface import Missing

FILE = "aesthetic_predictor_v2_5.pth"
HEIGHT = 1024
_HOME = "https://github.com/discus0434/aesthetic-predictor-v2-5"
HEAD = ModelCard("aesthetic", FILE, 6, "AGPL-3.0", f"{_HOME}/tree/main/models", "given")
SIGLIP = ModelCard(
    "siglip", "google/siglip-so400m-patch14-384", 3510, "Apache-2.0",
    "https://huggingface.co/google/siglip-so400m-patch14-384",
)  # fmt: skip
Layer = tuple[NDArray[np.float64], NDArray[np.float64]]


class Siglip(Embedder):
    """The picture half of a SigLIP, on pictures of one height; its vectors have length 1."""

    batch = 8

    def __init__(self, model: str | None = None) -> None:
        self.model = model or SIGLIP.default
        self.name = f"siglip-{HEIGHT}:{identity(self.model)}"
        self._model: Model = Model(
            self.model, "SiglipVisionModel", chosen=model is not None,
            processor="AutoImageProcessor",
        )  # fmt: skip

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        pictures = [one_height(thing.image) for thing in things if isinstance(thing, Picture)]
        with self._model.in_use() as (processor, model):
            inputs = processor(images=pictures, return_tensors="pt").to(model.device)
            return units(model(**inputs).pooler_output.cpu().numpy())


def one_height(picture: Image.Image) -> Image.Image:
    """A picture scaled to a height of 1024 pixels, as ICE-Bench rates all."""
    width, height = picture.size
    wide = max(1, width * HEIGHT // height)
    if wide * HEIGHT > MOST_PIXELS:
        raise Unmeasured(f"the edit is too wide to be scaled to a height of {HEIGHT}")
    return scaled(picture, (wide, HEIGHT))


class Aesthetic(Gauge):
    """The predictor's number, as it comes."""

    card = GaugeCard(
        "aesthetic",
        "how beautiful the edit is, for a predictor trained on people's ratings",
        (Metric("aesthetic", "Aesthetic Predictor V2.5", 0.0, 10.0),),
        "points",
        models=(HEAD, SIGLIP),
        extra="local",
        packages=("torch", "transformers"),
        paper=f"{_HOME}; ICE-Bench",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._head = tools.chosen("aesthetic")
        self._siglip = tools.share(Siglip, tools.chosen("siglip"))
        self._layers = Late(self._load, chosen=self._head is not None)

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        self._layers.get()  # before a large model is loaded for nothing
        return [Wish(self._siglip, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        values = made[0].astype(np.float64)
        for weight, bias in self._layers.get():
            if weight.shape[1] != values.size:
                raise CrevalError(
                    f"{self._head} is made for vectors of {weight.shape[1]} values, and "
                    f"{self._siglip.model} makes {values.size}: give the SigLIP that it belongs to."
                )
            values = weight @ values + bias
        return {"aesthetic": float(values[0])}

    def _load(self) -> list[Layer]:
        if self._head is None:
            raise Missing(
                f"the predictor's head is not here: download {FILE} (AGPL-3.0, 6 MB) from "
                f"{_HOME} and give --gauge aesthetic=FILE"
            )
        path = find_weights(self._head, (FILE,))
        return _layers(load_weights(path), str(path))


def _layers(weights: Mapping[str, Any], where: str) -> list[Layer]:
    """The linear layers of a head, in their order."""
    numbers = sorted({int(part) for name in weights for part in name.split(".") if part.isdigit()})
    layers = []
    for number in numbers:
        names = [f"scoring_head.{number}.{kind}" for kind in ("weight", "bias")]
        if not weights.keys() >= set(names):
            break
        weight, bias = (weights[name].float().numpy().astype(np.float64) for name in names)
        layers.append((weight, bias))
    if not layers or layers[-1][0].shape[0] != 1 or len(layers) != len(numbers):
        raise CrevalError(f"{where} is no head of Aesthetic Predictor V2.5.")
    return layers
