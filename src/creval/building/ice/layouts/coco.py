"""COCO: images with annotated objects (instances). An object's outline becomes the mask for local editing.

An image gets the mask of its largest object that covers 2 to 60 % of it. An image without such an object can be used
for tasks without a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from creval.benchmarks.complexbench_edit.coco_boxes import find_annotation_files, open_annotations
from creval.building.ice.layouts.base import ImportedSet, ImportedSets
from creval.core.errors import CrevalError
from creval.core.files import list_files
from creval.core.images import ImageError

_MIN_SHARE, _MAX_SHARE = 0.02, 0.6  # of an image
_MAX_GROUPS = 7  # characters of a number in a compressed mask


def read_coco(folder: Path, annotations: Path | None) -> ImportedSets:
    """Return the images of a folder that an annotation file lists, each with the mask of an object if one suits."""
    if annotations is None:
        found = find_annotation_files(folder)
        if len(found) != 1:
            raise CrevalError("give `annotations` FILE, COCO's instances_*.json for these images.")
        [annotations] = found
    files: dict[str, list[str]] = {}
    for name in list_files(folder):
        files.setdefault(Path(name).name, []).append(name)
    sets, left_out = list[ImportedSet](), dict[str, str]()
    with open_annotations(annotations) as content:
        for entry, thing in _choose_objects(content):
            name = Path(str(entry["file_name"])).name
            found_files = files.get(name, [])
            if len(found_files) != 1:
                left_out[name] = "the folder has several images of this name" if found_files else "no such image"
                continue
            image = folder / found_files[0]
            stem = Path(name).stem
            if thing is None:
                sets.append(ImportedSet(stem, image=image))
                continue
            category, annotation = thing
            size = int(entry["width"]), int(entry["height"])
            mask = partial(_draw_mask, annotation["segmentation"], size)
            origin = f"{category}, annotation {annotation.get('id')}"
            sets.append(ImportedSet(stem, "Local Editing", image, mask, origin=origin))
    return ImportedSets(sets, left_out)


def _choose_objects(content: Any) -> Iterator[tuple[Any, tuple[str, Any] | None]]:
    """Yield each image's entry, with the category and the annotation of its object, or None if no object suits."""
    categories = {entry["id"]: str(entry["name"]) for entry in content["categories"]}
    sizes = {entry["id"]: float(entry["width"]) * float(entry["height"]) for entry in content["images"]}
    chosen: dict[Any, tuple[float, Any]] = {}
    for annotation in content["annotations"]:
        image, area = annotation["image_id"], float(annotation["area"])
        suits = _MIN_SHARE * sizes[image] <= area <= _MAX_SHARE * sizes[image]
        if suits and not annotation.get("iscrowd") and annotation.get("segmentation"):
            best = chosen.get(image)
            if best is None or area > best[0]:
                chosen[image] = area, annotation
    for entry in content["images"]:
        found = chosen.get(entry["id"])
        yield entry, (categories[found[1]["category_id"]], found[1]) if found else None


def _draw_mask(segmentation: Any, size: tuple[int, int], image_size: tuple[int, int]) -> Image.Image:
    """Return the mask of an object, white on black."""
    if image_size != size:
        raise ImageError(
            f"the image is {image_size[0]} x {image_size[1]}, but its annotations say {size[0]} x {size[1]}"
        )
    try:
        if isinstance(segmentation, dict):
            return _decode_runs(segmentation, size)
        mask = Image.new("L", size, 0)
        draw = ImageDraw.Draw(mask)
        for polygon in segmentation:
            points = [float(side) for side in polygon]
            draw.polygon(list(zip(points[::2], points[1::2], strict=True)), fill=255)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ImageError(f"the outline of its object is malformed ({error})") from error
    if mask.getextrema() == (0, 0):
        raise ImageError("the outline of its object is malformed (the mask would be empty)")
    return mask


def _decode_runs(segmentation: Any, size: tuple[int, int]) -> Image.Image:
    """Return the mask that run lengths describe. Runs alternate between black and white and go down the columns."""
    width, height = size
    counts = segmentation["counts"]
    runs = _parse_runs(counts) if isinstance(counts, str) else [int(run) for run in counts]
    if list(segmentation["size"]) != [height, width] or min(runs, default=0) < 0 or sum(runs) != width * height:
        raise ValueError("its runs do not fill the image")
    flat = np.repeat(np.arange(len(runs), dtype=np.uint32) % 2, runs).astype(np.uint8) * 255
    return Image.fromarray(np.ascontiguousarray(flat.reshape(width, height).T))


def _parse_runs(text: str) -> Sequence[int]:
    """Return the run lengths of COCO's compressed form.

    A character minus 48 holds five bits of a number and a bit that says whether the number continues. The first three
    numbers are run lengths; each later number is the difference from the run length two places before.
    """
    runs: list[int] = []
    number = group = 0
    for char in text:
        bits = ord(char) - 48
        if not 0 <= bits < 64 or group >= _MAX_GROUPS:
            raise ValueError("its runs are not in COCO's form")
        number |= (bits & 31) << 5 * group
        group += 1
        if bits & 32:
            continue
        if bits & 16:
            number -= 1 << 5 * group
        runs.append(number + (runs[-2] if len(runs) > 2 else 0))
        number = group = 0
    return runs
