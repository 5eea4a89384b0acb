"""How far the poses in an edit are from the poses that it was to follow.

OpenPose finds bodies and hands in the edit and draws them on black; the value is
mean |control in grey - drawing in grey| / 255. Network and drawing are controlnet_aux's; OpenPose
is not for commercial use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from creval.core.card import Metric
from creval.core.errors import CrevalError
from creval.core.models import Missing, best_device, check_reachable
from creval.gauges.card import GaugeCard, ModelCard
from creval.gauges.embedding import Embedder, Thing, Vector, Wish
from creval.gauges.exhibit import Exhibit, Picture
from creval.gauges.gauge import Gauge, Tools
from creval.gauges.grey import Grey, control_distance
from creval.gauges.late import Late, library
from creval.gauges.models import identity

MODEL = ModelCard(
    "pose", "lllyasviel/Annotators", 510, "CMU's, not for commercial use",
    "https://github.com/CMU-Perceptual-Computing-Lab/openpose", file="body_pose_model.pth",
)  # fmt: skip
_FILE = "body_pose_model.pth"


class PoseMap(Embedder):
    """controlnet_aux's OpenPose, from the hub or a folder: people drawn on black, in grey."""

    kept = False
    batch = 1

    def __init__(self, model: str | None = None) -> None:
        self.model = model or MODEL.default
        self.name = f"pose:{identity(self.model)}"
        self._chosen = model is not None
        self._detector = Late(self._load)

    def embed(self, things: Sequence[Thing]) -> list[Vector]:
        detector = self._detector.get()
        return [_drawn(detector, thing.image) for thing in things if isinstance(thing, Picture)]

    def _load(self) -> Any:
        torch = library("torch", "poses", "OpenPose")
        poses = library("controlnet_aux", "poses", "OpenPose")
        if not self._chosen:
            check_reachable(self.model, _FILE)
        try:
            detector = poses.OpenposeDetector.from_pretrained(self.model)
            return detector.to(best_device(torch))
        except Exception as error:  # it downloads, and reads what it downloaded
            reason = str(error).strip().partition("\n")[0]
            kind = CrevalError if self._chosen else Missing
            raise kind(f"{self.model} cannot be loaded by controlnet_aux: {reason}") from error


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
        self._pose = tools.share(PoseMap, tools.chosen("pose"))
        self.name = f"pose@{self._pose.model}"

    def wants(self, exhibit: Exhibit) -> Sequence[Wish]:
        return [Wish(self._pose, exhibit.aligned())]

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:
        return {"pose": control_distance(exhibit, made[0])}
