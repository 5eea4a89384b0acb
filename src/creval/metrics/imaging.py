"""How well an edit is imaged (blur, noise, distortion), for MUSIQ trained on KonIQ: 0 to 100.

The picture is scaled to a height of 1024 before. The network and its weights are pyiqa's, which are
not for commercial use; what Google allows with the weights that these were made from is not
confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.aesthetic import HEIGHT, one_height
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.checkpoints import safe_weights
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish
from creval.metrics.inputs import Exhibit, Picture
from creval.metrics.model_loading import Late, identity, library
from creval.providers.huggingface import best_device

MODEL = ModelCard(
    "imaging", "musiq", 109, "CC-BY-NC-SA-4.0, as pyiqa publishes it",
    "https://huggingface.co/chaofengc/IQA-PyTorch-Weights", comes="library", file="",
)  # fmt: skip
_FILES = ("musiq_koniq_ckpt-e95806b9.pth",)


class Musiq(Embedder):
    """pyiqa's MUSIQ, with the weights that it downloads or those of a file; it makes one number."""

    batch = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"musiq-{HEIGHT}:{identity(self.model)}"
        self._given = model
        self._model = Late(self._load, chosen=model is not None)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        torch, musiq = self._model.get()
        pictures = [one_height(thing.image) for thing in things if isinstance(thing, Picture)]
        with torch.inference_mode():
            made = [float(musiq(torch.from_numpy(_tensor(picture)))) for picture in pictures]
        return [np.array([one], dtype=np.float64) for one in made]

    def _load(self) -> tuple[Any, Any]:
        torch = library("torch", "quality", "MUSIQ")
        pyiqa = library("pyiqa", "quality", "MUSIQ")
        given = {}
        if self._given is not None:
            given["pretrained_model_path"] = str(safe_weights(self._given, _FILES))
        try:
            return torch, pyiqa.create_metric("musiq", device=best_device(torch), **given)
        except Exception as error:  # it downloads, and reads what it downloaded
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"pyiqa cannot load {self._given or 'MUSIQ'}: {reason}") from error


def _tensor(picture: Image.Image) -> Any:
    pixels = np.asarray(picture, dtype=np.float32) / 255
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))[None]


class Imaging(Gauge):
    """MUSIQ's number, as it comes."""

    card = GaugeCard(
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

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._musiq = tools.share(Musiq, tools.chosen("imaging"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._musiq, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"imaging": float(made[0][0])}
