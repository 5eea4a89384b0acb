"""Parts of a request for an edit: seeds, settings, sizes and encoded images."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pybase64

from creval.core.images import EncodedImage
from creval.editors.base import EditRequest

Size = tuple[int, int]


def seed_in_range(job: EditRequest) -> int:
    """Return the seed of a request, mapped to the range that all servers accept.

    >>> seed_in_range(EditRequest("s", "x", seed=2**31 + 5))
    5
    """
    return job.seed % 2**31


def with_settings(body: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request body with the user's settings, which override its values. None removes a field.

    >>> with_settings({"size": "auto", "seed": 1}, {"size": None, "quality": "low"})
    {'seed': 1, 'quality': 'low'}
    """
    both = {**body, **settings}
    return {name: value for name, value in both.items() if value is not None}


def nearest_size(size: Size, sizes: Sequence[Size]) -> Size:
    """Return the first of the sizes whose aspect ratio is nearest to that of `size`.

    >>> nearest_size((800, 600), [(1024, 1024), (1536, 1024), (1024, 1536)])
    (1536, 1024)
    """
    wanted = math.log(size[0] / size[1])
    return min(sizes, key=lambda other: abs(math.log(other[0] / other[1]) - wanted))


def size_for_aspect(size: Size, pixels: int, step: int, max_aspect: float) -> Size:
    """Return a size of about `pixels` pixels with the aspect ratio of `size`, up to `max_aspect`.

    Both sides are multiples of `step`.

    >>> size_for_aspect((1920, 1080), 1024 * 1024, 16, 3.0)
    (1360, 768)
    """
    ratio = min(max(size[0] / size[1], 1 / max_aspect), max_aspect)
    width, height = math.sqrt(pixels * ratio), math.sqrt(pixels / ratio)
    return max(1, round(width / step)) * step, max(1, round(height / step)) * step


def encode_base64(image: EncodedImage) -> str:
    return pybase64.b64encode(image.content).decode("ascii")


def data_url(image: EncodedImage) -> str:
    """Return an image as a data URL."""
    return f"data:{image.media_type};base64,{encode_base64(image)}"
