"""How far the poses in an edit are from the poses that it was to follow.

OpenPose finds bodies and hands in the edit and draws them on black; the value is mean |control in grey - drawing in
grey| / 255. Network and drawing are controlnet_aux's; OpenPose is not for commercial use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import MetricInfo
from creval.metrics.checkpoints import find_safe_weights
from creval.metrics.control_maps import ControlModelMetric, GreyMap, control_distance, edit_control_pairs
from creval.metrics.features import ExtractorInput, FeatureArray, ModelExtractor
from creval.metrics.model_loading import ModelInfo, import_library
from creval.providers.huggingface import best_device

MODEL = ModelInfo(
    "pose",
    "lllyasviel/Annotators",
    510,
    "CMU's, not for commercial use",
    "https://github.com/CMU-Perceptual-Computing-Lab/openpose",
    file="body_pose_model.pth",
)
_WEIGHT_FILES = ("body_pose_model.pth", "hand_pose_model.pth", "facenet.pth")  # that it loads


class PoseModel(ModelExtractor):
    """controlnet_aux's OpenPose, from the hub or a folder: how far people drawn on black are from a control."""

    info, kind, batch_size = MODEL, "pose-distance", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        detector = self._model.get()
        return [
            np.array([control_distance(control, _draw_poses(detector, edit))])
            for edit, control in edit_control_pairs(items)
        ]

    def _load(self) -> Any:
        torch = import_library("torch", "poses", "OpenPose")
        poses = import_library("controlnet_aux", "poses", "OpenPose")
        if Path(self.model).is_file():
            raise CrevalError(f"{self.model} is a file: give the folder with {', '.join(_WEIGHT_FILES)}.")
        paths = [find_safe_weights(self.model, (file,)) for file in _WEIGHT_FILES]
        try:
            # From the folder where they were looked at, be it the hub's.
            detector = poses.OpenposeDetector.from_pretrained(str(paths[0].parent))
            return detector.to(best_device(torch))
        except Exception as error:  # it reads whatever is there
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"{self.model} cannot be loaded by controlnet_aux: {reason}") from error


def _draw_poses(detector: Any, image: Image.Image) -> GreyMap:
    side = min(image.size)
    drawn = detector(image, detect_resolution=side, image_resolution=side, include_hand=True, output_type="pil")
    return np.asarray(drawn.resize(image.size).convert("L"))


class PoseDistance(ControlModelMetric):
    """The mean absolute difference between two drawings of poses."""

    info = MetricInfo(
        "pose",
        "how far the edit's poses are from the control picture's",
        (Metric("pose", "mean absolute difference of poses", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        models=(MODEL,),
        extra="poses",
        packages=("torch", "controlnet_aux"),
        paper="Cao et al., IEEE TPAMI 43(1), 2021; ICE-Bench",
    )
    extractor_class = PoseModel
