"""Objects in images without annotations, found by a zero-shot detector."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from creval.benchmarks.complexbench_edit.coco_boxes import AnnotatedObject
from creval.building.complexbench.objects import Detections
from creval.core.errors import CrevalError
from creval.core.files import read_json, replace_lone_surrogates, write_json
from creval.core.images import ImageError, file_digest, open_image
from creval.core.sample import Box

Detector = Callable[[Image.Image, Sequence[str]], Mapping[str, Sequence[Box]]]
_COCO_NAMES = (
    "person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign, "
    "parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, "
    "handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, "
    "surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, "
    "broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, "
    "laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, "
    "scissors, teddy bear, hair drier, toothbrush"
)
COCO_CLASSES = tuple(_COCO_NAMES.split(", "))
"""COCO's classes, for which the detector searches."""
_SAVE_INTERVAL = 10.0  # seconds between saves during detection
_MAX_OVERLAP = 0.5  # overlap above which two boxes of a class are one object


def detect_objects(
    folder: Path,
    images: Mapping[str, Path],
    model: str,
    detector: Detector,
    watch: Callable[[int, int], None] | None = None,
) -> Detections:
    """Return the objects that a detector finds in images. Results are cached in the folder's `objects.json`."""
    path = folder / "objects.json"
    cache = read_json(path) if path.is_file() else {}
    if not isinstance(cache, dict) or not isinstance(cache.get("pictures"), dict):
        cache = {}
    if cache.get("model") != model:
        cache = {"model": model, "pictures": {}}
    objects: dict[str, list[AnnotatedObject]] = {}
    broken: dict[str, str] = {}
    saved, unsaved = time.monotonic(), False
    try:
        for done, (name, image) in enumerate(images.items(), 1):
            key = replace_lone_surrogates(name)
            cached = cache["pictures"].get(key)
            try:
                digest = file_digest(image)
                if not isinstance(cached, dict) or cached.get("digest") != digest:
                    found = _detect_in_image(open_image(image), detector)
                    cache["pictures"][key] = {"digest": digest, "objects": found}
                    unsaved = True
            except (ImageError, OSError) as error:
                broken[name] = str(error)
                continue
            if unsaved and time.monotonic() > saved + _SAVE_INTERVAL:
                write_json(path, cache)
                saved, unsaved = time.monotonic(), False
            objects[name] = _parse_objects(cache["pictures"][key], path)
            if watch is not None:
                watch(done, len(images))
    finally:
        if unsaved:
            write_json(path, cache)
    return Detections(objects, broken)


def _parse_objects(cached: Mapping[str, Any], path: Path) -> list[AnnotatedObject]:
    try:
        return [
            AnnotatedObject(str(category), (float(a), float(b), float(c), float(d)))
            for category, (a, b, c, d) in cached["objects"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CrevalError(f"{path} is damaged. Delete it, and it will be created again.") from error


def _detect_in_image(image: Image.Image, detector: Detector) -> list[tuple[str, Box]]:
    """Return the objects in an image, with boxes relative to its size. Of overlapping boxes, the best one is kept."""
    width, height = image.size
    found: list[tuple[str, Box]] = []
    for name, boxes in detector(image, COCO_CLASSES).items():
        kept: list[Box] = []
        for box in boxes:
            if all(_overlap(box, other) < _MAX_OVERLAP for other in kept):
                kept.append(box)
        found += [
            (name, (left / width, top / height, right / width, bottom / height)) for left, top, right, bottom in kept
        ]
    return found


def _overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(across, 0.0) * max(down, 0.0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared) if areas > shared else 0.0
