"""Distance between the poses in an edit and the poses in the control image that the edit should follow.

OpenPose finds bodies and hands in the edit and draws them on black. The value is mean |control in grey - drawing in
grey| / 255. Network and drawing come from controlnet_aux. OpenPose is not for commercial use.
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
from creval.metrics.control_maps import ControlModelMetric, control_distance, edit_control_pairs
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
_WEIGHT_FILES = ("body_pose_model.pth", "hand_pose_model.pth", "facenet.pth")  # all that controlnet_aux loads


class PoseModel(ModelExtractor):
    """controlnet_aux's OpenPose, from the hub or a folder.

    Its feature is the distance between the drawn poses and the control image.
    """

    info, kind, batch_size = MODEL, "pose-distance", 1

    def extract(self, items: Sequence[ExtractorInput]) -> list[FeatureArray]:
        return [
            np.array([control_distance(control, np.asarray(self.draw_poses(edit).convert("L")))])
            for edit, control in edit_control_pairs(items)
        ]

    def draw_poses(self, image: Image.Image) -> Image.Image:
        """Return the poses in an image, drawn in color on black, in the image's size."""
        side = min(image.size)
        drawn: Image.Image = self._model.get()(
            image, detect_resolution=side, image_resolution=side, include_hand=True, output_type="pil"
        )
        return drawn.resize(image.size)

    def _load(self) -> Any:
        torch = import_library("torch", "poses", "OpenPose")
        poses = import_library("controlnet_aux", "poses", "OpenPose")
        if Path(self.model).is_file():
            raise CrevalError(f"{self.model} is a file. Give a folder with {', '.join(_WEIGHT_FILES)}.")
        paths = [find_safe_weights(self.model, (file,)) for file in _WEIGHT_FILES]
        try:
            # Load from the folder whose files were checked, also for a model from the hub.
            detector = poses.OpenposeDetector.from_pretrained(str(paths[0].parent))
            return detector.to(best_device(torch))
        except Exception as error:  # it parses the given files, so any error can occur
            reason = str(error).strip().partition("\n")[0]
            raise CrevalError(f"{self.model} cannot be loaded by controlnet_aux: {reason}") from error


class PoseDistance(ControlModelMetric):
    """The mean absolute difference between the drawn poses and the control image."""

    info = MetricInfo(
        "pose",
        "distance of the edit's poses from the control image's",
        (Metric("pose", "mean absolute difference of poses", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        models=(MODEL,),
        extra="poses",
        packages=("torch", "controlnet_aux"),
        paper="Cao et al., IEEE TPAMI 43(1), 2021; ICE-Bench",
    )
    extractor_class = PoseModel
