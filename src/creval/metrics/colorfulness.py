"""How colourful an edit is.

With rg = |R - G| and yb = |(R + G) / 2 - B| on [0, 1], as ICE-Bench's release has it:
sqrt(var rg + var yb) + 0.3 sqrt((mean rg)^2 + (mean yb)^2). Hasler and Süsstrunk (2003), whom its
paper cites, take the differences with their signs, and pixels from 0 to 255.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image

from creval.core.schema import Metric
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs

_ROWS = 256  # of a strip: a large picture is not held several times
MAX_SIGNED = 255.0 * math.sqrt(1.25 * 1.09)
"""The highest with signs. For red, green, cyan and magenta, rg^2 + yb^2 is 1.25, and nowhere more:
so with a mean of length m the value is at most sqrt(1.25 - m^2) + 0.3 m, which is sqrt(1.25 * 1.09)
at its highest. About 64 parts of red and 36 of cyan have it."""


class Colorfulness(ImageMetric):
    """Two conventions: the release's, and the cited paper's."""

    info = MetricInfo(
        "colorfulness",
        "how colourful the edit is",
        (
            Metric("colorfulness", "on [0, 1], without signs", 0.0, 1.0),
            Metric("colorfulness_signed", "on [0, 255], with signs (Hasler-Süsstrunk)", 0.0, MAX_SIGNED),
        ),
        "spread and mean of two opponent colours",
        paper="Hasler and Süsstrunk, SPIE 5007, 2003; ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        # The release scales an edit to its source first.
        there = inputs.sample.source is not None
        image = (inputs.edit_at_source_size() if there else inputs.edit).image
        return {"colorfulness": colorfulness(image), "colorfulness_signed": 255.0 * colorfulness(image, signed=True)}


def colorfulness(image: Image.Image, *, signed: bool = False) -> float:
    """The colourfulness of a picture in RGB, on [0, 1]."""
    pixels = np.asarray(image)
    number = pixels.shape[0] * pixels.shape[1]
    sums, squares = [0, 0], [0, 0]
    for top in range(0, len(pixels), _ROWS):
        strip = pixels[top : top + _ROWS].astype(np.int32)
        red, green, blue = (strip[..., channel] for channel in range(3))
        # Twice the second difference, so that both are whole numbers and their sums exact.
        for at, values in enumerate((red - green, red + green - 2 * blue)):
            sums[at] += int((values if signed else np.abs(values)).sum(dtype=np.int64))
            squares[at] += int((values * values).sum(dtype=np.int64))
    spread = middle = 0.0
    for at, scale in enumerate((255.0, 510.0)):
        mean = sums[at] / number
        spread += (squares[at] / number - mean * mean) / scale**2
        middle += (mean / scale) ** 2
    return math.sqrt(max(spread, 0.0)) + 0.3 * math.sqrt(middle)
