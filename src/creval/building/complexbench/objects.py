"""Objects in images, and selection of images that are suitable for chains (arXiv 2506.12830, section 3.1.1).

An image is kept if at least three classes occur in it, and no class occurs more than twice, so that each object has a
unique name.
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
_MAX_EXAMPLES = 3  # images named in a note
_ARTICLE = re.compile(r"^(?:the|an?|one)\s+")


class SceneObject(NamedTuple):
    """An object: its name, which is unique in the image, and its box in pixels."""

    name: str
    box: Box


class ImageObjects(NamedTuple):
    """Objects of an image, and the image's size."""

    objects: Sequence[SceneObject]
    size: tuple[int, int]

    def describe(self) -> str:
        """Return a list of the objects and their positions, for a prompt."""
        width, height = self.size
        lines = []
        for name, (left, top, right, bottom) in self.objects:
            across = f"{100 * left / width:.0f} to {100 * right / width:.0f} % from the left"
            down = f"{100 * top / height:.0f} to {100 * bottom / height:.0f} % from the top"
            lines.append(f"- {name} ({across}, {down})")
        return "\n".join(lines)


def unsuitable_reason(objects: Sequence[AnnotatedObject]) -> str:
    """Return why an image with these objects is not suitable, or ""."""
    counts = Counter(one.category for one in objects)
    if any(number > MAX_PER_CLASS for number in counts.values()):
        return f"a class occurs more than {MAX_PER_CLASS} times"
    if len(counts) < MIN_CLASSES:
        return f"fewer than {MIN_CLASSES} classes occur"
    return ""


def name_objects(objects: Sequence[AnnotatedObject], size: tuple[int, int]) -> list[SceneObject]:
    """Return objects with unique names, such as `left cat` and `right cat`."""
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
    """Return the object with this name, or None if no object has it or the name is ambiguous."""
    words = _ARTICLE.sub("", " ".join(written_name.casefold().split()).strip(" ."))
    exact = [thing for thing in scene_objects if thing.name.casefold() == words]
    # The name may be part of a longer expression: `person's vest`, `white vase`.
    near = [thing for thing in scene_objects if re.search(rf"\b{re.escape(thing.name.casefold())}\b", words)]
    chosen = exact or near
    return chosen[0] if len(chosen) == 1 else None


class Detections(NamedTuple):
    """Objects by image path or file name, and the reasons for unreadable images."""

    objects: Mapping[str, Sequence[AnnotatedObject]]
    unreadable: Mapping[str, str]


class SuitableImages(NamedTuple):
    """Suitable images with their objects, and the reasons for unsuitable and unreadable images."""

    scenes: dict[str, ImageObjects]
    unsuitable: dict[str, str]
    unreadable: dict[str, str]

    def describe_unsuitable(self) -> list[str]:
        """Return a sentence for each reason why images are unsuitable, with the number of these images and examples."""
        sentences = []
        for reason, number in Counter(self.unsuitable.values()).most_common():
            names = [name for name, why in self.unsuitable.items() if why == reason][:_MAX_EXAMPLES]
            examples = ", ".join(names) + (", ..." if number > len(names) else "")
            sentences.append(f"{pluralise(number, 'image')} not kept: {reason} ({examples})")
        return sentences


def select_suitable_images(names: Iterable[str], folder: Path, detections: Detections) -> SuitableImages:
    """Select the images that are suitable for chains."""
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
        found = detections.objects.get(name, detections.objects.get(Path(name).name))
        reason = "there are no annotations" if found is None else unsuitable_reason(found)
        if reason or found is None:
            chosen.unsuitable[name] = reason
            continue
        chosen.scenes[name] = ImageObjects(name_objects(found, size), size)
    return chosen
