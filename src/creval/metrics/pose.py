"""How far the poses in an edit are from the poses that it was to follow.

OpenPose finds bodies and hands in the edit and draws them on black; the value is
mean |control in grey - drawing in grey| / 255. Network and drawing are controlnet_aux's; OpenPose
is not for commercial use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.base import Gauge, GaugeCard, ModelCard, Tools
from creval.metrics.checkpoints import safe_weights
from creval.metrics.control_maps import Grey, beside_control, control_distance, with_controls
from creval.metrics.embeddings import Embedder, Thing, Vector, Wish
from creval.metrics.inputs import Exhibit
from creval.metrics.model_loading import Late, identity, library
from creval.providers.huggingface import best_device

MODEL = ModelCard(
    "pose", "lllyasviel/Annotators", 510, "CMU's, not for commercial use",
    "https://github.com/CMU-Perceptual-Computing-Lab/openpose", file="body_pose_model.pth",
)  # fmt: skip
_FILES = ("body_pose_model.pth", "hand_pose_model.pth", "facenet.pth")  # that it loads


class PoseMap(Embedder):
    """controlnet_aux's OpenPose, from the hub or a folder: how far people drawn on black, in grey,
    are from a control."""

    batch = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"pose-distance:{identity(self.model)}"
        self._model = Late(self._load, chosen=model is not None)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        detector = self._model.get()
        return [
            np.array([control_distance(control, _drawn(detector, edit))])
            for edit, control in with_controls(things)
        ]

    def _load(self) -> Any:
        torch = library("torch", "poses", "OpenPose")
        poses = library("controlnet_aux", "poses", "OpenPose")
        if Path(self.model).is_file():
            raise CrevalError(f"{self.model} is a file: give the folder with {', '.join(_FILES)}.")
        paths = [safe_weights(self.model, (file,)) for file in _FILES]
        try:
            # From the folder where they were looked at, be it the hub's.
            detector = poses.OpenposeDetector.from_pretrained(str(paths[0].parent))
            return detector.to(best_device(torch))
        except Exception as error:  # it reads whatever is there
            reason = str(error).strip().partition("\n")[0]
            said = f"{self.model} cannot be loaded by controlnet_aux: {reason}"
            raise CrevalError(said) from error


def _drawn(detector: Any, picture: Image.Image) -> Grey:
    side = min(picture.size)
    drawn = detector(
        picture, detect_resolution=side, image_resolution=side, include_hand=True, output_type="pil"
    )
    return np.asarray(drawn.resize(picture.size).convert("L"))


class Pose(Gauge):
    """The mean absolute difference between two drawings of poses."""

    card = GaugeCard(
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

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._pose = tools.share(PoseMap, tools.chosen("pose"))

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._pose, beside_control(exhibit))]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        return {"pose": float(made[0][0])}
