"""What is in an image and where, and which images suit chains (arXiv 2506.12830, section 3.1.1).

An image is kept if no class occurs more than twice in it, so that each object can be named, and at least three classes
occur.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.complexbench_edit.coco_boxes import AnnotatedObject
from creval.core.errors import CrevalError
from creval.core.files import replace_lone_surrogates
from creval.core.formatting import pluralise
from creval.core.images import read_image_size
from creval.core.sample import Box

MAX_PER_CLASS, MIN_CLASSES = 2, 3
_MAX_EXAMPLES = 3  # pictures in a sentence
_ARTICLE = re.compile(r"^(?:the|an?|one)\s+")


class SceneObject(NamedTuple):
    """An object: its name, which no other in its image has, and its box in pixels."""

    name: str
    box: Box


class ImageObjects(NamedTuple):
    """An image's objects and its size."""

    objects: Sequence[SceneObject]
    size: tuple[int, int]

    def describe(self) -> str:
        """Return the objects as a list for a prompt, with where each is."""
        width, height = self.size
        lines = []
        for name, (left, top, right, bottom) in self.objects:
            across = f"{100 * left / width:.0f} to {100 * right / width:.0f} % from the left"
            down = f"{100 * top / height:.0f} to {100 * bottom / height:.0f} % from the top"
            lines.append(f"- {name} ({across}, {down})")
        return "\n".join(lines)


def unsuitable_reason(objects: Sequence[AnnotatedObject]) -> str:
    """Return why an image of these objects is not kept; empty if it is."""
    counts = Counter(one.category for one in objects)
    if any(number > MAX_PER_CLASS for number in counts.values()):
        return f"a class occurs more than {MAX_PER_CLASS} times"
    if len(counts) < MIN_CLASSES:
        return f"fewer than {MIN_CLASSES} classes occur"
    return ""


def name_objects(objects: Sequence[AnnotatedObject], size: tuple[int, int]) -> list[SceneObject]:
    """Return objects with names that tell two of a kind apart: `left cat`, `right cat`."""
    width, height = size
    pairs: dict[str, list[AnnotatedObject]] = {}
    for one in objects:
        pairs.setdefault(one.category, []).append(one)
    found = []
    for category, group in pairs.items():
        words = [""]
        if len(group) > 1:
            first, second = (_center(one.box) for one in group[:2])
            aside = abs(first[0] - second[0]) * width >= abs(first[1] - second[1]) * height
            group = sorted(group, key=lambda one: _center(one.box)[0 if aside else 1])
            words = ["left ", "right "] if aside else ["upper ", "lower "]
        for word, one in zip(words, group, strict=False):
            left, top, right, bottom = one.box
            box = (left * width, top * height, right * width, bottom * height)
            found.append(SceneObject(word + " ".join(replace_lone_surrogates(category).split())[:60], box))
    return found


def _center(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def find_object(scene_objects: Sequence[SceneObject], written_name: str) -> SceneObject | None:
    """Return the object that a name means; None where it means none, or two."""
    words = _ARTICLE.sub("", " ".join(written_name.casefold().split()).strip(" ."))
    exact = [thing for thing in scene_objects if thing.name.casefold() == words]
    # A part or a quality may stand around it: `person's vest`, `white vase`.
    near = [thing for thing in scene_objects if re.search(rf"\b{re.escape(thing.name.casefold())}\b", words)]
    chosen = exact or near
    return chosen[0] if len(chosen) == 1 else None


class Detections(NamedTuple):
    """The objects in images, by an image's path or by its file's name; and why some images could not be looked at."""

    objects: Mapping[str, Sequence[AnnotatedObject]]
    unreadable: Mapping[str, str]


class SuitableImages(NamedTuple):
    """Images that suit, with their objects; and of the others why not: they do not suit, or cannot be opened."""

    scenes: dict[str, ImageObjects]
    unsuitable: dict[str, str]
    unreadable: dict[str, str]

    def describe_unsuitable(self) -> list[str]:
        """Return why images are not kept, how many, and the first of them."""
        told = []
        for reason, number in Counter(self.unsuitable.values()).most_common():
            names = [name for name, why in self.unsuitable.items() if why == reason][:_MAX_EXAMPLES]
            named = ", ".join(names) + (", ..." if number > len(names) else "")
            told.append(f"{pluralise(number, 'picture')} not kept: {reason} ({named})")
        return told


def select_suitable_images(names: Iterable[str], folder: Path, detections: Detections) -> SuitableImages:
    """Return the images that suit chains."""
    chosen = SuitableImages({}, {}, {})
    for name in names:
        try:
            size = read_image_size(folder / name)
        except (CrevalError, OSError) as error:
            chosen.unreadable[name] = str(error)
            continue
        if name in detections.unreadable:
            chosen.unreadable[name] = detections.unreadable[name]
            continue
        there = detections.objects.get(name, detections.objects.get(Path(name).name))
        reason = "there are no annotations" if there is None else unsuitable_reason(there)
        if reason or there is None:
            chosen.unsuitable[name] = reason
            continue
        chosen.scenes[name] = ImageObjects(name_objects(there, size), size)
    return chosen
