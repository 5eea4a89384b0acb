"""Result type of importers: sets of images with their tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from PIL import Image

MakeMask = Callable[[tuple[int, int]], Image.Image]
"""Returns a mask for an image of this width and height. Raises `ImageError` if that is impossible."""


class ImportedSet(NamedTuple):
    """Images that belong together.

    - `stem`: unique name, without folders.
    - `folder`: the task, group or category that they are for, or "".
    - `mask`: file of the mask, or a function that makes it.
    - `origin`: what the mask and the references are, for the record.
    """

    stem: str
    folder: str = ""
    image: Path | None = None
    mask: Path | MakeMask | None = None
    references: tuple[Path, ...] = ()
    origin: str = ""


class ImportedSets(NamedTuple):
    """Sets of a dataset, and the reasons for images that cannot be used."""

    sets: list[ImportedSet]
    left_out: Mapping[str, str]


LayoutReader = Callable[[Path, Path | None], ImportedSets]
"""Reads a dataset from its folder and, where the dataset has one, its file of annotations or pairs."""
