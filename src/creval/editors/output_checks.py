"""Checks of the images that editors return: validity, size, and oddities such as an unchanged source."""

from __future__ import annotations

import contextlib
import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops

from creval.core.files import read_bytes
from creval.core.image_limits import pixel_budget
from creval.core.images import (
    ImageError,
    decode_image,
    detect_image_format,
    has_transparency,
    open_image,
    read_image_size,
)
from creval.providers.call_errors import CallError

MAX_IMAGE_BYTES = 64 << 20
"""Maximum size of an image file."""

_BLACK_LEVEL = 8  # of 255: an image whose pixels are all below this is black
_ASPECT_TOLERANCE = 0.02  # relative tolerance of the aspect ratio: models round sides to multiples of 8 or 16
SUFFIX_BY_FORMAT = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}


@dataclass(frozen=True)
class OutputCheck:
    """File suffix, size and oddities of an image."""

    suffix: str
    width: int
    height: int
    oddities: tuple[str, ...] = ()

    def metadata(self) -> dict[str, object]:
        """Return the facts that are stored with an edit."""
        return {"size": [self.width, self.height], **dict.fromkeys(self.oddities, True)}


def read_image_bytes(path: Path, *, follow_links: bool = True) -> bytes:
    """Return the content of a file.

    Raises `CallError` if it is not a regular file, is too large, or is a link and `follow_links` is false.
    """
    try:
        found = path.stat() if follow_links else path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise CallError("no image", "the output is not a regular file", retryable=False)
        if found.st_size > MAX_IMAGE_BYTES:
            raise CallError("too large", f"the file has more than {MAX_IMAGE_BYTES >> 20} MB", retryable=False)
        return read_bytes(path, MAX_IMAGE_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CallError("no image", f"the file cannot be read: {reason}", retryable=False) from None


def check_output(content: bytes, source: Path | None) -> OutputCheck:
    """Decode and check the image that an editor returned. Raises a retryable `CallError` if it is not an image."""
    pixels = 0
    if source is not None:
        with contextlib.suppress(ImageError):
            pixels = math.prod(read_image_size(source))
    try:
        with pixel_budget.reserve(pixels + math.prod(read_image_size("the image", content))):
            return _check_decoded(decode_image(content), content, source)
    except ImageError as error:
        raise CallError("no image", str(error), billed=True) from error


def _check_decoded(image: Image.Image, content: bytes, source: Path | None) -> OutputCheck:
    suffix = SUFFIX_BY_FORMAT.get(detect_image_format(content), "")
    if not suffix:
        raise CallError("no image", "the format is not PNG, JPEG or WebP", retryable=False, billed=True)
    before, lost = None, False
    if source is not None:
        with contextlib.suppress(ImageError, OSError):
            before = open_image(source)
            lost = has_transparency(read_bytes(source)) and not has_transparency(content)
    odd = (*_find_oddities(image, before), *(["no_longer_transparent"] if lost else []))
    return OutputCheck(suffix, *image.size, odd)


def _find_oddities(image: Image.Image, before: Image.Image | None) -> Iterator[str]:
    """Yield the properties of an image that are unexpected for an edit of this source."""
    if _is_black(image, before):
        yield "black"
    if before is None:
        return
    if before.size != image.size:
        yield "another_size"
        if abs(image.width / image.height / (before.width / before.height) - 1) > _ASPECT_TOLERANCE:
            yield "another_shape"
    elif ImageChops.difference(image, before).getbbox() is None:
        yield "same_as_source"


def _is_black(image: Image.Image, before: Image.Image | None) -> bool:
    """Return True if the image is all black and the source is not. Safety checkers return black images."""
    dark = bool(np.array(image.getextrema()).max() < _BLACK_LEVEL)
    return dark and (before is None or not _is_black(before, None))
