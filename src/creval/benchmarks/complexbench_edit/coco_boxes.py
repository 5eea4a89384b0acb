"""Bounding boxes of objects in COCO images, from the annotations (`annotations/instances_*.json`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.cache import cached_folder
from creval.core.errors import CrevalError
from creval.core.files import read_json
from creval.core.sample import Box

LOG = logging.getLogger(__name__)
_MAX_FILE_BYTES = 1 << 30  # twice the size of COCO's largest file
_MAX_IMAGE_ID = 10**12  # larger than every image id


class AnnotatedObject(NamedTuple):
    """An object in an image: its category, and its box in fractions of the image's width and height."""

    category: str
    box: Box


def find_annotation_files(folder: Path) -> list[Path]:
    """Return the annotation files in a folder or in the folder `annotations` next to it."""
    inside = (folder, folder / "annotations", folder / "data" / "annotations")
    places = (*inside, folder.parent / "annotations")
    return sorted({file for place in places for file in place.glob("instances_*.json")})


def read_objects_by_id(files: Sequence[Path], images: Collection[int]) -> dict[int, list[AnnotatedObject]]:
    """Return the objects in images, by image id. The boxes are cached, because the files are large."""
    import polars

    cached = cached_folder("coco", files, partial(_write_box_table, files)) / "boxes.parquet"
    wanted = polars.col("picture").is_in(list(images))
    try:
        rows = polars.scan_parquet(cached, glob=False).filter(wanted).collect().rows()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise CrevalError(f"{cached.parent} is damaged. Delete it; it will be created again.") from error
    found: dict[int, list[AnnotatedObject]] = {}
    for image, category, left, top, right, bottom in rows:
        found.setdefault(image, []).append(AnnotatedObject(category, (left, top, right, bottom)))
    return found


def read_objects_by_filename(file: Path) -> dict[str, list[AnnotatedObject]]:
    """Return the objects in all images of an annotation file, by file name. A crowd counts as three objects."""
    with open_annotations(file) as content:
        found: dict[str, list[AnnotatedObject]] = {_file_name(entry): [] for entry in content["images"]}
        for entry, image, one in _iter_objects(content):
            found[_file_name(image)] += [one] * (3 if entry.get("iscrowd") else 1)
    return found


@contextmanager
def open_annotations(file: Path) -> Iterator[Any]:
    """Read an annotation file. Raises `CrevalError` if its content is malformed."""
    content = read_json(file, _MAX_FILE_BYTES)
    try:
        yield content
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise CrevalError(f"{file} is not a COCO annotation file ({error!r}).") from error


def _iter_objects(content: Any) -> Iterator[tuple[Any, Any, AnnotatedObject]]:
    """Yield the entry of each annotation with a finite box, the entry of the image, and the object."""
    categories = {entry["id"]: str(entry["name"]).casefold() for entry in content["categories"]}
    images = {entry["id"]: entry for entry in content["images"]}
    for entry in content["annotations"]:
        image = images[entry["image_id"]]
        left, top, width, height = map(float, entry["bbox"])
        across, down = float(image["width"]), float(image["height"])
        box = (left / across, top / down, (left + width) / across, (top + height) / down)
        if math.isfinite(sum(box)):
            yield entry, image, AnnotatedObject(categories[entry["category_id"]], box)


def _file_name(entry: Any) -> str:
    return Path(str(entry["file_name"])).name


def boxes_for_name(objects: Sequence[AnnotatedObject], name: str, size: tuple[int, int]) -> tuple[Box, ...]:
    """Return the boxes in pixels of all objects to which a name can refer. `size` is the image's width and height.

    >>> objects = [AnnotatedObject("bottle", (0.0, 0.5, 1.0, 1.0)), AnnotatedObject("cat", (0.0, 0.0, 0.1, 0.1))]
    >>> boxes_for_name(objects, "left bottle", (40, 20))
    ((0.0, 10.0, 40.0, 20.0),)
    """
    words = f" {name.casefold().replace('_', ' ')}"
    width, height = size
    return tuple(
        (left * width, top * height, right * width, bottom * height)
        for category, (left, top, right, bottom) in objects
        if words.endswith(f" {category}")
    )


def _write_box_table(files: Sequence[Path], into: Path) -> None:
    import polars

    rows: list[tuple[Any, ...]] = []
    for file in files:
        LOG.info("reading the boxes in %s (only once)", file)
        with open_annotations(file) as content:
            found = [(int(entry["image_id"]), *one) for entry, _, one in _iter_objects(content)]
        rows += [(image, category, *box) for image, category, box in found if abs(image) < _MAX_IMAGE_ID]
    numbers = dict.fromkeys(("left", "top", "right", "bottom"), polars.Float64)
    schema = {"picture": polars.Int64, "category": polars.String, **numbers}
    polars.DataFrame(rows, schema=schema, orient="row").write_parquet(into / "boxes.parquet")
