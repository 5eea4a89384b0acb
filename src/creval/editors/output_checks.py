"""What came back from an editor: whether it is a picture, how large, and whether it is an edit."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from creval.core.files import read_bytes
from creval.core.images import ImageError, decode, kind_of, open_image, see_through
from creval.providers.errors import Fault

MOST = 64 << 20
"""The bytes that a picture may have."""

_DARK = 8  # of 255: what is nowhere lighter is black
_SHAPELY = 0.02  # of the aspect ratio: models round sides to multiples of 8 or 16
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}


@dataclass(frozen=True)
class Looked:
    """A picture's suffix and size, and what is odd about it."""

    suffix: str
    width: int
    height: int
    odd: tuple[str, ...] = ()

    def facts(self) -> dict[str, object]:
        """What is kept about an edit."""
        return {"size": [self.width, self.height], **dict.fromkeys(self.odd, True)}


def read_picture(path: Path, *, links: bool = True) -> bytes:
    """A file's content, byte for byte; `Fault` where it is no file, or larger than pictures are.
    Without `links` a symbolic link is no file."""
    try:
        found = path.stat() if links else path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise Fault("no picture", "what is in its place is no file", again=False)
        if found.st_size > MOST:
            raise Fault("too large", f"a file of more than {MOST >> 20} MB", again=False)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Fault("no picture", f"the file cannot be read: {reason}", again=False) from None


def look_at(content: bytes, source: Path | None) -> Looked:
    """Look at what came back. What is no picture is a `Fault`: the next try may bring one."""
    try:
        picture = decode(content)
        suffix = SUFFIXES.get(kind_of(content), "")
    except ImageError as error:
        raise Fault("no picture", str(error), paid=True) from error
    if not suffix:
        raise Fault("no picture", "it is none of PNG, JPEG and WebP", again=False, paid=True)
    before, lost = None, False
    if source is not None:
        with contextlib.suppress(ImageError, OSError):
            before = open_image(source)
            lost = see_through(read_bytes(source)) and not see_through(content)
    odd = (*_oddities(picture, before), *(["no_longer_transparent"] if lost else []))
    return Looked(suffix, *picture.size, odd)


def _oddities(picture: Image.Image, before: Image.Image | None) -> Iterator[str]:
    """What one would not expect of an edit of this source, as far as pixels tell."""
    if _black(picture, before):
        yield "black"
    if before is None:
        return
    if _same(picture, before):
        yield "same_as_source"
    if before.size != picture.size:
        yield "another_size"
        if abs(_shape(picture) / _shape(before) - 1) > _SHAPELY:
            yield "another_shape"


def _shape(picture: Image.Image) -> float:
    return picture.width / picture.height


def _black(picture: Image.Image, before: Image.Image | None) -> bool:
    """Whether all is black, as safety checkers leave it, where the source is not."""
    dark = bool(np.asarray(picture.convert("RGB")).max() < _DARK)
    return dark and (before is None or not _black(before, None))


def _same(picture: Image.Image, before: Image.Image | None) -> bool:
    if before is None or before.size != picture.size:
        return False
    return bool(
        np.array_equal(np.asarray(picture.convert("RGB")), np.asarray(before.convert("RGB")))
    )
