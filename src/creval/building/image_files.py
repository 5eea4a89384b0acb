"""Image files from which a benchmark is built."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from pathlib import Path, PurePath, PurePosixPath

from PIL import Image

from creval.core.errors import CrevalError
from creval.core.files import atomic_copy, atomic_write, list_files
from creval.core.images import ImageError, open_image

# Formats that creval cannot open. They are listed so that they are reported.
_SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm"))
_SUFFIXES |= {".heic", ".heif", ".svg", ".eps", ".psd"}

_RELEASE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
"""Suffixes of images in releases. Other formats are saved as PNG."""


def release_suffix(path: PurePath) -> str:
    """Return the suffix that an image file gets in a benchmark."""
    return path.suffix if path.suffix.casefold() in _RELEASE_SUFFIXES else ".png"


def copy_image(image: Path, path: Path) -> None:
    """Copy an image. If the suffixes differ, save it as PNG."""
    if image.suffix == path.suffix:
        atomic_copy(image, path)
    else:
        save_png(open_image(image), path)


def save_png(image: Image.Image, path: Path) -> None:
    """Save an image as PNG."""
    png = io.BytesIO()
    image.save(png, "PNG")
    atomic_write(path, png.getvalue())


def write_error_reason(error: ImageError | OSError) -> object:
    """Return an error of writing an image as the reason for the user."""
    return getattr(error, "strerror", None) or error


def require_separate(folder: Path, out: Path) -> None:
    """Raise `CrevalError` if the images are inside the output folder."""
    if not folder.is_dir():
        raise CrevalError(f"`images` {folder} is not a folder.")
    if folder.resolve().is_relative_to(out.resolve()):
        raise CrevalError(f"`out` {out} contains the images. Give a folder elsewhere.")


def list_image_names(folder: Path, out: Path) -> list[str]:
    """Return the relative paths of all images in a folder and its subfolders, except `out`."""
    require_separate(folder, out)
    images, output = folder.resolve(), out.resolve()
    excluded = f"{output.relative_to(images).as_posix()}/" if output.is_relative_to(images) else None
    names = [name for name in find_image_names(folder) if not (excluded and name.startswith(excluded))]
    if not names:
        raise CrevalError(f"{folder} contains no images (JPEG, PNG, WebP ...).")
    return names


def find_image_names(folder: Path) -> list[str]:
    """Return the relative paths of all images in a folder and its subfolders."""
    return [name for name in list_files(folder) if PurePosixPath(name).suffix.casefold() in _SUFFIXES]


def sample_names(names: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """Return at most `limit` random names, in their order. A larger limit gives the same names and further ones."""
    shuffled = list(names)
    random.Random(f"pictures {seed}").shuffle(shuffled)  # noqa: S311
    return sorted(shuffled[:limit])
