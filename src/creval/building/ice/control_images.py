"""Pictures that control, made of photographs: edges, depth, grey, blur, borders to be filled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter, ImageOps

from creval.benchmarks.ice_bench.tasks import Task
from creval.core.errors import CrevalError
from creval.core.images import MOST_PIXELS, ImageError, open_image

OUTPAINTING = "Outpainting"
DERIVED = frozenset({"canny", "grey", "ssim", OUTPAINTING})
"""What can be made without a model, by the gauge that measures it, and the task of borders."""
DEPTH = "depth"
Depth = Callable[[Image.Image], NDArray[np.uint8]]
_BLUR = 0.008  # of the longer side
_BORDER = 0.25  # of each side
_EMPTY = (128, 128, 128)


class Control(NamedTuple):
    """What is edited, and where, if that follows from it."""

    source: Image.Image
    mask: Image.Image | None = None


def derive(task: Task, photograph: Path, depth: Depth | None = None) -> Control:
    """A task's control picture; `depth` is what estimates depth."""
    picture = open_image(photograph)
    if task.name == OUTPAINTING:
        return _bordered(picture)
    if task.control == "canny":
        from creval.metrics.control_maps import edges

        return Control(Image.fromarray(edges(np.asarray(picture))))
    if task.control == DEPTH and depth:
        return Control(Image.fromarray(depth(picture)))
    if task.control == "grey":
        return Control(picture.convert("L"))
    if task.control == "ssim":
        radius = max(2.0, _BLUR * max(picture.size))
        return Control(picture.filter(ImageFilter.GaussianBlur(radius)))
    raise CrevalError(f"{task.name}: its control picture cannot be made here.")


def is_plain(picture: Image.Image) -> bool:
    """Whether a picture is of one colour throughout, and so controls nothing."""
    return all(low == high for low, high in np.atleast_2d(np.array(picture.getextrema())))


def _bordered(picture: Image.Image) -> Control:
    """A picture in the middle of a larger one; the mask is white where nothing is yet."""
    wide, high = (max(1, round(_BORDER * side)) for side in picture.size)
    border = (wide, high, wide, high)
    if (picture.width + 2 * wide) * (picture.height + 2 * high) > MOST_PIXELS:
        raise ImageError("with borders it would be too large.")
    mask = ImageOps.expand(Image.new("L", picture.size, 0), border, 255)
    return Control(ImageOps.expand(picture, border, _EMPTY), mask)
