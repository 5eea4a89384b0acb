"""Colourfulness of an edit.

With rg = |R - G| and yb = |(R + G) / 2 - B| on [0, 1], as in ICE-Bench's release:
sqrt(var rg + var yb) + 0.3 sqrt((mean rg)^2 + (mean yb)^2). Hasler and Süsstrunk (2003), whom the
ICE-Bench paper cites, use signed differences and pixels from 0 to 255.
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

_ROWS = 256  # rows of a strip: strips avoid several copies of a large image
MAX_SIGNED = 255.0 * math.sqrt(1.25 * 1.09)
"""The maximum with signed differences. rg^2 + yb^2 is at most 1.25 (red, green, cyan, magenta), so with a
mean of length m the value is at most sqrt(1.25 - m^2) + 0.3 m. The maximum of that is sqrt(1.25 * 1.09).
An image of about 64 % red and 36 % cyan reaches it."""


class Colorfulness(ImageMetric):
    """Colourfulness by two formulas: that of ICE-Bench's release, and that of the paper that ICE-Bench cites."""

    info = MetricInfo(
        "colorfulness",
        "colourfulness of the edit",
        (
            Metric("colorfulness", "absolute differences, pixels in [0, 1]", 0.0, 1.0),
            Metric("colorfulness_signed", "signed differences, pixels in [0, 255] (Hasler-Süsstrunk)", 0.0, MAX_SIGNED),
        ),
        "spread and mean of two opponent colours",
        paper="Hasler and Süsstrunk, SPIE 5007, 2003; ICE-Bench",
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        # ICE-Bench's release scales an edit to its source first.
        has_source = inputs.sample.source is not None
        image = (inputs.edit_at_source_size() if has_source else inputs.edit).image
        return {"colorfulness": colorfulness(image), "colorfulness_signed": 255.0 * colorfulness(image, signed=True)}


def colorfulness(image: Image.Image, *, signed: bool = False) -> float:
    """Return the colourfulness of an RGB image, for pixels in [0, 1]."""
    pixels = np.asarray(image)
    number = pixels.shape[0] * pixels.shape[1]
    sums, squares = [0, 0], [0, 0]
    for top in range(0, len(pixels), _ROWS):
        strip = pixels[top : top + _ROWS].astype(np.int32)
        red, green, blue = (strip[..., channel] for channel in range(3))
        # The second difference is doubled: both are then integers, and their sums exact.
        for at, values in enumerate((red - green, red + green - 2 * blue)):
            sums[at] += int((values if signed else np.abs(values)).sum(dtype=np.int64))
            squares[at] += int((values * values).sum(dtype=np.int64))
    spread = middle = 0.0
    for at, scale in enumerate((255.0, 510.0)):
        mean = sums[at] / number
        spread += (squares[at] / number - mean * mean) / scale**2
        middle += (mean / scale) ** 2
    return math.sqrt(max(spread, 0.0)) + 0.3 * math.sqrt(middle)
