"""Similarity of the faces in an edit to the reference's face: cosine of InsightFace vectors.

The value is the best cosine of any face in the edit with the first face in the reference. Faces are
detected at 640, 480, 384, 256 and 128 pixels, until some are found. An edit without a face scores 0. With a
reference without a face, the metric is not measurable. The library has the MIT licence. Its models are
not for commercial use.
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
    """InsightFace's models, by name or from a folder of ONNX files.

    A feature is a matrix with one row of length 1 for each face.
    """

    info, kind, batch_size = MODEL, "faces", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        app = self._model.get()
        return [_face_vectors(app, np.asarray(image)) for image in images_of(items)]

    def _load(self) -> Any:
        faces = import_library("insightface.app", "faces", "face similarity")
        # It warns for each face, which would break up creval's progress line.
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"insightface(\.|$)")
        try:
            app = faces.FaceAnalysis(name=self._model_location(), allowed_modules=["detection", "recognition"])
            if "recognition" not in app.models:
                raise ValueError("it has no face recognition model")
        except Exception as error:  # it downloads files and uses assert, so any error can occur
            if isinstance(error, OSError) and not self._explicit:
                raise CrevalError(
                    f"{self.model} cannot be downloaded ({error.strerror or 'no connection'}): "
                    "fetch it elsewhere, unpack it, and give `metric_models` face=FOLDER"
                ) from error
            reason = " ".join(str(error).split()) or "it has no face detection model"
            raise CrevalError(f"{self.model} cannot be loaded by insightface: {reason[:200]}") from error
        return app

    def _model_location(self) -> str:
        path = Path(self.model)
        if self._explicit and (path.is_absolute() or self.model.startswith(".")):
            if not path.is_dir():
                raise ValueError("the folder does not exist")
            return str(path.resolve())
        return self.model


def _face_vectors(app: Any, pixels: FeatureArray) -> FeatureArray:
    # ICE-Bench's release passes RGB, although InsightFace expects BGR. Do the same to get the same values.
    for side in DETECTION_SIZES:
        if getattr(app, "det_size", None) != (side, side):
            app.prepare(ctx_id=0, det_size=(side, side))
        faces = app.get(pixels)
        if faces:
            return np.stack([face.normed_embedding for face in faces]).astype(np.float32)
    return np.zeros((0, 1), dtype=np.float32)


class FaceSimilarity(ModelMetric):
    """The similarity of the most similar face in the edit to the reference's face."""

    info = MetricInfo(
        "face",
        "similarity of the faces of edit and reference",
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
            raise NotMeasurable("no face was found in the reference")
        return float(np.clip((edit @ reference[0]).max(), -1.0, 1.0)) if len(edit) else 0.0
