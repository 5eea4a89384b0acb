"""Result type of importers: sets of images, each with the task that it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from PIL import Image

MakeMask = Callable[[tuple[int, int]], Image.Image]
"""Returns a mask for an image of this width and height. Raises `ImageError` if that is impossible."""


class ImportedSet(NamedTuple):
    """Images of a dataset that belong together: an image, its mask and its references.

    - `stem`: unique name, without folders.
    - `folder`: the task, or the group or category of tasks, that the images are for, or "".
    - `mask`: file of the mask, or a function that makes it.
    - `origin`: what the mask and the references are in the dataset, for `import.json`.
    """

    stem: str
    folder: str = ""
    image: Path | None = None
    mask: Path | MakeMask | None = None
    references: tuple[Path, ...] = ()
    origin: str = ""


class ImportedSets(NamedTuple):
    """The sets of images (image, mask, references) that a dataset contains, and for each unusable image the reason."""

    sets: list[ImportedSet]
    left_out: Mapping[str, str]


LayoutReader = Callable[[Path, Path | None], ImportedSets]
"""Reads a dataset from its folder and, where the dataset has one, its file of annotations or pairs."""
