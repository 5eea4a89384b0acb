"""How far a map of an edit (edges, depth, a pose) is from its control image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.metrics.features import ExtractorInput
from creval.metrics.metric_inputs import ImageWithContext, LazyImage, MetricInputs

GreyMap = NDArray[np.uint8]


def control_distance(control: Image.Image, edit_map: GreyMap) -> float:
    """How far a map taken from the edit is from the control picture in grey, of the same size."""
    import cv2

    grey = np.asarray(control.convert("L"))
    return float(cv2.norm(grey, edit_map, cv2.NORM_L1)) / 255.0 / grey.size


def edit_with_control(inputs: MetricInputs) -> LazyImage:
    """The edit, in its control's size and beside it: so a model's map of it, which is large, need
    not be kept, but only how far that is from the control."""
    return ImageWithContext(inputs.edit_at_source_size(), inputs.source)


def edit_control_pairs(items: Sequence[ExtractorInput]) -> list[tuple[Image.Image, Image.Image]]:
    """Edits and their controls."""
    return [
        (thing.image, thing.context.image)
        for thing in items
        if isinstance(thing, ImageWithContext) and isinstance(thing.context, LazyImage)
    ]
