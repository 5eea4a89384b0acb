"""Which files are the images that a benchmark is made of."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.files import atomic_copy, atomic_write, list_files
from creval.core.images import ImageError, open_image

# Those at the end are not opened, and reported for that.
_SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm"))
_SUFFIXES |= {".heic", ".heif", ".svg", ".eps", ".psd"}

_RELEASE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
"""The kinds of images that releases have; others are saved as PNG."""


def release_suffix(path: PurePath) -> str:
    """Return the ending of an image's file in a benchmark."""
    return path.suffix if path.suffix.casefold() in _RELEASE_SUFFIXES else ".png"


def copy_image(image: Path, path: Path) -> None:
    """Copy an image; one of another kind than its new name says becomes a PNG."""
    if image.suffix == path.suffix:
        atomic_copy(image, path)
    else:
        save_png(open_image(image), path)


def save_png(image: Image.Image, path: Path) -> None:
    """Save an image that was made here."""
    png = io.BytesIO()
    image.save(png, "PNG")
    atomic_write(path, png.getvalue())


def write_error_reason(error: ImageError | OSError) -> object:
    """Return why an image cannot be written."""
    return getattr(error, "strerror", None) or error


def require_separate(folder: Path, out: Path) -> None:
    """Refuse to write where the images are."""
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of pictures.")
    if folder.resolve().is_relative_to(out.resolve()):
        raise CrevalError(f"`out` {out} is where the pictures are; give a folder elsewhere.")


def list_image_names(folder: Path, out: Path) -> list[str]:
    """Return the images in a folder and in those inside but `out`, by their paths from there."""
    require_separate(folder, out)
    where, made = folder.resolve(), out.resolve()
    inside = f"{made.relative_to(where).as_posix()}/" if made.is_relative_to(where) else None
    names = [name for name in find_image_names(folder) if not (inside and name.startswith(inside))]
    if not names:
        raise CrevalError(f"{folder} holds no picture (JPEG, PNG, WebP ...).")
    return names


def find_image_names(folder: Path) -> list[str]:
    """Return the images in a folder and in those inside, by their paths from there."""
    return [name for name in list_files(folder) if PurePosixPath(name).suffix.casefold() in _SUFFIXES]


def sample_names(names: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """Draw so many names by chance, in their order; a larger limit adds to them."""
    shuffled = list(names)
    random.Random(f"pictures {seed}").shuffle(shuffled)  # noqa: S311
    return sorted(shuffled[:limit])
