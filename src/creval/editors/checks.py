"""What came back from an editor: whether it is a picture, how large, and whether it is an edit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from creval.core.images import ImageError, decode, kind_of, open_image
from creval.judges.judge import Fault

_DARK = 8  # of 255: what is nowhere lighter is black
SUFFIXES = {"PNG": ".png", "JPEG": ".jpg", "WEBP": ".webp"}


@dataclass(frozen=True)
class Looked:
    """A picture's suffix and size, and what is odd about it."""

    suffix: str
    width: int
    height: int
    black: bool
    same: bool

    def facts(self) -> dict[str, object]:
        """What is kept about an edit."""
        odd = {"black": self.black, "same_as_source": self.same}
        return {"size": [self.width, self.height], **{k: True for k, v in odd.items() if v}}


def look_at(content: bytes, source: Path | None) -> Looked:
    """Look at what came back. What is no picture is a `Fault`: the next try may bring one."""
    try:
        picture = decode(content)
        suffix = SUFFIXES.get(kind_of(content), "")
    except ImageError as error:
        raise Fault("no picture", str(error), paid=True) from error
    if not suffix:
        raise Fault("no picture", "it is none of PNG, JPEG and WebP", again=False, paid=True)
    before = None
    if source is not None:
        try:
            before = open_image(source)
        except ImageError:
            before = None
    return Looked(suffix, *picture.size, black=_black(picture, before), same=_same(picture, before))


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
