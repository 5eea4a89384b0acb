"""Whether an edit shows the reference's face: cos of InsightFace's vectors.

The value is the best of all faces in the edit against the reference's first; faces are looked for
at 640, 480, 384, 256 and 128 pixels until there are some. An edit without a face has 0; a reference
without one cannot be measured against. The library is MIT, its models are not for commercial use.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish
from creval.metrics.inputs import Exhibit, Picture, Unmeasured
from creval.metrics.model_loading import Late, identity, library

MODEL = ModelCard(
    "face", "buffalo_l", 330, "for research, not for commercial use",
    "https://github.com/deepinsight/insightface/tree/master/model_zoo", comes="library",
    file=".insightface/models/buffalo_l",
)  # fmt: skip
SIDES = (640, 480, 384, 256, 128)


class Faces(Embedder):
    """InsightFace's detector and recogniser, by name or from a folder of ONNX files: a row of
    length 1 for each face in a picture, in the order in which they are found."""

    batch = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"faces:{identity(self.model)}"
        self._chosen = model is not None
        self._model = Late(self._load, chosen=self._chosen)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        app = self._model.get()
        return [_rows(app, thing) for thing in things if isinstance(thing, Picture)]

    def _load(self) -> Any:
        faces = library("insightface.app", "faces", "face similarity")
        # It says so for each face, and would tear the line of creval's own.
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"insightface(\.|$)")
        try:
            app = faces.FaceAnalysis(
                name=self._folder(), allowed_modules=["detection", "recognition"]
            )
            if "recognition" not in app.models:
                raise ValueError("it has no model that recognises faces")
        except Exception as error:  # it downloads, and asserts
            if isinstance(error, OSError) and not self._chosen:
                raise CrevalError(
                    f"{self.model} cannot be downloaded ({error.strerror or 'no connection'}): "
                    "fetch it elsewhere, unpack it, and give --gauge face=FOLDER"
                ) from error
            reason = " ".join(str(error).split()) or "it has no model that finds faces"
            said = f"{self.model} cannot be loaded by insightface: {reason[:200]}"
            raise CrevalError(said) from error
        return app

    def _folder(self) -> str:
        path = Path(self.model)
        if self._chosen and (path.is_absolute() or self.model.startswith(".")):
            if not path.is_dir():
                raise ValueError("there is no such folder")
            return str(path.resolve())
        return self.model


def _rows(app: Any, picture: Picture) -> Vector:
    # The release hands over RGB, which InsightFace takes for BGR; so do we, to measure the same.
    pixels = np.asarray(picture.image)
    for side in SIDES:
        if getattr(app, "det_size", None) != (side, side):
            app.prepare(ctx_id=0, det_size=(side, side))
        faces = app.get(pixels)
        if faces:
            return np.stack([face.normed_embedding for face in faces]).astype(np.float32)
    return np.zeros((0, 1), dtype=np.float32)


class Face(Gauge):
    """How near the nearest face in the edit is to the reference's."""

    card = GaugeCard(
        "face",
        "how alike the faces of edit and reference are",
        (Metric("face", "best cosine with the reference's face", -1.0, 1.0),),
        "cosine",
        needs=("reference",),
        models=(MODEL,),
        extra="faces",
        packages=("insightface", "onnxruntime"),
        paper="Deng et al., arXiv 1801.07698; ICE-Bench",
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._faces = tools.share(Faces, tools.chosen("face"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._faces, exhibit.reference), Wish(self._faces, exhibit.edit)]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        reference, edit = made
        if not len(reference):
            raise Unmeasured("no face is found in the reference")
        if not len(edit):
            return {"face": 0.0}
        return {"face": float(np.clip((edit @ reference[0]).max(), -1.0, 1.0))}
