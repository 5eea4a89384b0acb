"""The pictures that chains are written for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.files import files_below

_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm"}
)


def picture_names(folder: Path, out: Path) -> list[str]:
    """The pictures in a folder and in those inside, by their paths from there."""
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of pictures.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise CrevalError(f"--out {out} lies among the pictures; give a folder elsewhere.")
    names = [name for name in files_below(folder) if Path(name).suffix.casefold() in _SUFFIXES]
    if not names:
        raise CrevalError(f"{folder} holds no picture (.jpg, .png, .webp ...).")
    return names


def some(names: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """So many of them by chance, in their order; a larger limit adds to them."""
    shuffled = list(names)
    random.Random(f"pictures {seed}").shuffle(shuffled)  # noqa: S311
    return sorted(shuffled[:limit])
