"""How far an edit in grey is from the grey picture that it was to colour.

The value is mean |control in grey - edit in grey| / 255.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from creval.core.card import Metric
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Thing, Vector
from creval.gauges.exhibit import Beside, Exhibit, Picture
from creval.gauges.gauge import Gauge

Grey = NDArray[np.uint8]


class GreyDistance(Gauge):
    """The mean absolute difference between two pictures in grey."""

    card = GaugeCard(
        "grey",
        "how far the edit in grey is from the control picture in grey",
        (Metric("grey", "mean absolute difference in grey", 0.0, 1.0, higher_is_better=False),),
        "share of a pixel's range",
        needs=("control",),
        paper="ICE-Bench",
    )

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        edited = np.asarray(exhibit.aligned().image.convert("L"))
        return {"grey": control_distance(exhibit.source.image, edited)}


def control_distance(control: Image.Image, found: Grey) -> float:
    """How far a map taken from the edit is from the control picture in grey, of the same size."""
    import cv2

    grey = np.asarray(control.convert("L"))
    return float(cv2.norm(grey, found, cv2.NORM_L1)) / 255.0 / grey.size


def beside_control(exhibit: Exhibit) -> Picture:
    """The edit, in its control's size and beside it: so a model's map of it, which is large, need
    not be kept, but only how far that is from the control."""
    return Beside(exhibit.aligned(), exhibit.source)


def with_controls(things: Sequence[Thing]) -> list[tuple[Image.Image, Image.Image]]:
    """Edits and their controls."""
    return [
        (thing.image, thing.other.image)
        for thing in things
        if isinstance(thing, Beside) and isinstance(thing.other, Picture)
    ]
