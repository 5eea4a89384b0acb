"""Control images that are derived from photographs: edges, depth, poses, grey, blur, and borders to fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageFilter, ImageOps

from creval.benchmarks.ice_bench.tasks import Task
from creval.core.errors import CrevalError
from creval.core.images import MAX_PIXELS, ImageError, open_image

OUTPAINTING = "Outpainting"
DERIVABLE = frozenset({"canny", "grey", "ssim", OUTPAINTING})
"""Control images that need no model: their control metrics, and the name of the outpainting task."""
DEPTH, POSE = "depth", "pose"
MODEL_DERIVABLE = (DEPTH, POSE)
"""Control metrics whose control images need a model."""
Estimator = Callable[[Image.Image], Image.Image]
"""Returns the control image of a photograph."""
_BLUR = 0.008  # radius as a share of the longer side
_BORDER = 0.25  # width as a share of each side
_BORDER_COLOUR = (128, 128, 128)


class ControlImage(NamedTuple):
    """A derived source image, and its mask if there is one."""

    source: Image.Image
    mask: Image.Image | None = None


def load_estimators(models: Mapping[str, str]) -> dict[str, Estimator]:
    """Return functions that derive control images, by control metric. Each loads its model when it is first called."""
    found: dict[str, Estimator] = {}
    if DEPTH in models:
        from creval.metrics.depth import DepthModel

        depth = DepthModel(models[DEPTH])
        found[DEPTH] = lambda image: Image.fromarray(depth.estimate_depth(image))
    if POSE in models:
        from creval.metrics.pose import PoseModel

        found[POSE] = PoseModel(models[POSE]).draw_poses
    return found


def make_control_image(
    task: Task, photograph: Path, estimators: Mapping[str, Estimator] = MappingProxyType({})
) -> ControlImage:
    """Return a task's control image, derived from a photograph."""
    image = open_image(photograph)
    if task.name == OUTPAINTING:
        return _add_border(image)
    if task.control_metric == "canny":
        from creval.metrics.control_maps import canny_edges

        return ControlImage(Image.fromarray(canny_edges(np.asarray(image))))
    if estimate := estimators.get(task.control_metric or ""):
        return ControlImage(estimate(image))
    if task.control_metric == "grey":
        return ControlImage(image.convert("L"))
    if task.control_metric == "ssim":
        radius = max(2.0, _BLUR * max(image.size))
        return ControlImage(image.filter(ImageFilter.GaussianBlur(radius)))
    raise CrevalError(f"{task.name}: creval cannot derive its control image.")


def is_single_colour(image: Image.Image) -> bool:
    """Return whether an image has a single colour, which makes it useless as a control image."""
    return all(low == high for low, high in np.atleast_2d(np.array(image.getextrema())))


def _add_border(image: Image.Image) -> ControlImage:
    """Return an image with a border around it, and a mask that is white in the border."""
    wide, high = (max(1, round(_BORDER * side)) for side in image.size)
    border = (wide, high, wide, high)
    if (image.width + 2 * wide) * (image.height + 2 * high) > MAX_PIXELS:
        raise ImageError("the image would be too large with borders.")
    mask = ImageOps.expand(Image.new("L", image.size, 0), border, 255)
    return ControlImage(ImageOps.expand(image, border, _BORDER_COLOUR), mask)
