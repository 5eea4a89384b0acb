"""Which files are the pictures that a benchmark is made of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from creval.core.errors import CrevalError
from creval.core.files import files_below

# Those at the end are not opened, and reported for that.
_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".jp2", ".ppm",
     ".heic", ".heif", ".svg", ".eps", ".psd"}
)  # fmt: skip


def picture_names(folder: Path, out: Path) -> list[str]:
    """The pictures in a folder and in those inside, by their paths from there. What lies in `out`
    is not looked at."""
    if not folder.is_dir():
        raise CrevalError(f"{folder} is not a folder of pictures.")
    where, made = folder.resolve(), out.resolve()
    if where.is_relative_to(made):
        raise CrevalError(f"--out {out} is where the pictures are; give a folder elsewhere.")
    inside = f"{made.relative_to(where).as_posix()}/" if made.is_relative_to(where) else None
    names = [
        name
        for name in files_below(folder)
        if PurePosixPath(name).suffix.casefold() in _SUFFIXES
        and not (inside and name.startswith(inside))
    ]
    if not names:
        raise CrevalError(f"{folder} holds no picture (JPEG, PNG, WebP ...).")
    return names


def some(names: Sequence[str], limit: int | None, seed: int) -> list[str]:
    """So many of them by chance, in their order; a larger limit adds to them."""
    shuffled = list(names)
    random.Random(f"pictures {seed}").shuffle(shuffled)  # noqa: S311
    return sorted(shuffled[:limit])
