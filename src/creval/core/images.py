"""The one way to open a picture: upright, in RGB, on white, whatever the file is.

What cannot be opened raises `ImageError` with a sentence, and nothing else.
"""

from __future__ import annotations

import hashlib
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from creval.core.errors import CrevalError
from creval.core.files import read_bytes

MOST_PIXELS = 178_956_970
"""The largest picture that is opened; in RGB it takes half a gigabyte."""

# What people have. Others are left out on purpose: EPS, for one, would start another program.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM", "ICO")
_ROWS = 256  # of a picture converted at a time
_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")


class ImageError(CrevalError):
    """A picture that cannot be opened, and why."""


def open_image(path: str | Path) -> Image.Image:
    """The picture in a file: turned as its EXIF says, first frame, 8 bit RGB, alpha on white."""
    path = Path(path)
    _check_file(path)
    try:
        with warnings.catch_warnings():
            # The limit that counts is ours, and faults in metadata do not concern the pixels.
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_formats()) as image:
                _check_size(path, image)
                image.load()
                return _on_white(_eight_bit(_upright(image)))
    except ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageError(f"{path} is too large to open safely: {error}") from error
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a picture that creval reads{_looks_like(path)}") from error
    except Exception as error:  # decoders raise almost anything on broken data
        raise ImageError(f"{path} is damaged and cannot be opened ({_reason(error)}).") from error


def digest(path: str | Path) -> str:
    """A name for a file's content: the same bytes have the same digest."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from error


@lru_cache(maxsize=1)
def _formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise ImageError(f"{path} is a folder, not a picture.")
        if not path.is_file():
            kind = "is not a file" if path.exists() else "does not exist"
            raise ImageError(f"{path} {kind}.")
        if path.stat().st_size == 0:
            raise ImageError(f"{path} is empty (0 bytes).")
    except (OSError, ValueError) as error:
        raise ImageError(f"{path} cannot be read: {error}.") from error


def _check_size(path: Path, image: ImageFile.ImageFile) -> None:
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise ImageError(
            f"{path} has {width} x {height} pixels; more than {MOST_PIXELS / 1e6:.0f} million "
            "are not opened. Make it smaller first."
        )
    if width == 0 or height == 0:
        raise ImageError(f"{path} has no pixels ({width} x {height}).")


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # EXIF that cannot be read says nothing about the orientation
        return image


def _eight_bit(image: Image.Image) -> Image.Image:
    """Samples of 16 and 32 bits scaled to 8; Pillow itself would cut them off at 255."""
    if not image.mode.startswith("I") and image.mode != "F":
        return image
    samples = np.asarray(image)
    finite = samples[np.isfinite(samples)] if image.mode == "F" else samples
    most = float(finite.max(initial=0))
    full = max(65535.0, most)
    if image.mode == "F":
        full = 1.0 if most <= 1.0 else max(255.0, most)
    scaled = np.empty(samples.shape, dtype=np.uint8)
    for row in range(0, len(samples), _ROWS):
        part = np.nan_to_num(samples[row : row + _ROWS].astype(np.float64), posinf=0.0, neginf=0.0)
        scaled[row : row + _ROWS] = np.clip(part * (255.0 / full) + 0.5, 0, 255)
    return Image.fromarray(scaled)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return image.convert("RGB") if image.mode != "RGB" else image.copy()


def _looks_like(path: Path) -> str:
    """What a file that is no picture seems to be."""
    with path.open("rb") as file:
        start = file.read(64)
    if start[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return ": it is a HEIC photo. Convert it to JPEG or PNG first."
    if start.lstrip()[:1] in (b"<", b"{"):
        return ": it holds text, perhaps an error page that was saved in its place."
    return ". JPEG, PNG, WebP, AVIF, GIF, BMP and TIFF are."


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".")
