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
from creval.metrics.base import MetricInfo, ModelMetric
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor, images_of
from creval.metrics.metric_inputs import MetricInputs, NotMeasurable
from creval.metrics.model_loading import ModelInfo, import_library

MODEL = ModelInfo(
    "face",
    "buffalo_l",
    330,
    "for research, not for commercial use",
    "https://github.com/deepinsight/insightface/tree/master/model_zoo",
    origin="library",
    file=".insightface/models/buffalo_l",
)
DETECTION_SIZES = (640, 480, 384, 256, 128)


class FaceExtractor(ModelExtractor):
    """InsightFace's models, by name or from a folder of ONNX files: a row of length 1 for each face found."""

    info, kind, batch_size = MODEL, "faces", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        app = self._model.get()
        return [_face_vectors(app, np.asarray(image)) for image in images_of(items)]

    def _load(self) -> Any:
        faces = import_library("insightface.app", "faces", "face similarity")
        # It says so for each face, and would tear the line of creval's own.
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"insightface(\.|$)")
        try:
            app = faces.FaceAnalysis(name=self._model_location(), allowed_modules=["detection", "recognition"])
            if "recognition" not in app.models:
                raise ValueError("it has no model that recognises faces")
        except Exception as error:  # it downloads, and asserts
            if isinstance(error, OSError) and not self._explicit:
                raise CrevalError(
                    f"{self.model} cannot be downloaded ({error.strerror or 'no connection'}): "
                    "fetch it elsewhere, unpack it, and give `metric_models` face=FOLDER"
                ) from error
            reason = " ".join(str(error).split()) or "it has no model that finds faces"
            raise CrevalError(f"{self.model} cannot be loaded by insightface: {reason[:200]}") from error
        return app

    def _model_location(self) -> str:
        path = Path(self.model)
        if self._explicit and (path.is_absolute() or self.model.startswith(".")):
            if not path.is_dir():
                raise ValueError("there is no such folder")
            return str(path.resolve())
        return self.model


def _face_vectors(app: Any, pixels: FeatureArray) -> FeatureArray:
    # The release hands over RGB, which InsightFace takes for BGR; so do we, to measure the same.
    for side in DETECTION_SIZES:
        if getattr(app, "det_size", None) != (side, side):
            app.prepare(ctx_id=0, det_size=(side, side))
        faces = app.get(pixels)
        if faces:
            return np.stack([face.normed_embedding for face in faces]).astype(np.float32)
    return np.zeros((0, 1), dtype=np.float32)


class FaceSimilarity(ModelMetric):
    """How near the nearest face in the edit is to the reference's."""

    info = MetricInfo(
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
    extractor_class = FaceExtractor

    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        return [inputs.reference, inputs.edit]

    def value(self, features: Sequence[FeatureArray]) -> float:
        reference, edit = features
        if not len(reference):
            raise NotMeasurable("no face is found in the reference")
        return float(np.clip((edit @ reference[0]).max(), -1.0, 1.0)) if len(edit) else 0.0
