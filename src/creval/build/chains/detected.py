"""The objects that a zero-shot detector finds in pictures without annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image

from creval.benchmarks.coco import Annotated
from creval.benchmarks.files import read_json
from creval.core.errors import CrevalError
from creval.core.files import write_json
from creval.core.images import ImageError, digest, open_image
from creval.core.sample import Box

Find = Callable[[Image.Image, Sequence[str]], Mapping[str, Sequence[Box]]]
CLASSES = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat",
    "traffic light", "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog",
    "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella",
    "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball", "kite",
    "baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket", "bottle",
    "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple", "sandwich", "orange",
    "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch", "potted plant",
    "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone",
    "microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase", "scissors",
    "teddy bear", "hair drier", "toothbrush",
)  # fmt: skip
"""COCO's classes, which a detector is asked for."""
_ALIKE = 0.5  # overlap above which two boxes of a class are one object


def detected(
    folder: Path,
    pictures: Mapping[str, Path],
    model: str,
    find: Find,
    watch: Callable[[int, int], None] | None = None,
) -> dict[str, list[Annotated]]:
    """What a detector finds in pictures, by their names; kept in the folder's `objects.json`.

    What cannot be opened has nothing in it here; whoever needs the picture will say why.
    """
    path = folder / "objects.json"
    kept = read_json(path) if path.is_file() else {}
    if not isinstance(kept, dict) or kept.get("model") != model:
        kept = {"model": model, "pictures": {}}
    found: dict[str, list[Annotated]] = {}
    for done, (name, picture) in enumerate(pictures.items(), 1):
        held = kept["pictures"].get(name)
        try:
            state = digest(picture)
            if not isinstance(held, dict) or held.get("digest") != state:
                objects = _looked(open_image(picture), find)
                kept["pictures"][name] = {"digest": state, "objects": objects}
                write_json(path, kept)
        except ImageError:
            found[name] = []
            continue
        try:
            found[name] = [
                Annotated(str(category), (float(a), float(b), float(c), float(d)))
                for category, (a, b, c, d) in kept["pictures"][name]["objects"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise CrevalError(f"{path} is damaged: delete it, and it is made again.") from error
        if watch is not None:
            watch(done, len(pictures))
    return found


def _looked(picture: Image.Image, find: Find) -> list[tuple[str, Box]]:
    """The objects in a picture, of boxes that overlap much the best, in shares of its size."""
    width, height = picture.size
    found: list[tuple[str, Box]] = []
    for name, boxes in find(picture, CLASSES).items():
        kept: list[Box] = []
        for box in boxes:
            if all(_overlap(box, other) < _ALIKE for other in kept):
                kept.append(box)
        found += [
            (name, (left / width, top / height, right / width, bottom / height))
            for left, top, right, bottom in kept
        ]
    return found


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share, of that which they cover."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(across, 0.0) * max(down, 0.0)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared) if areas > shared else 0.0
