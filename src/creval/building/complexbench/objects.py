"""What is in a picture and where, and which pictures suit chains (arXiv 2506.12830, section 3.1.1).

A picture is kept if no class occurs more than twice in it, so that each object can be named, and at
least three classes occur.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.complexbench_edit.coco_boxes import Annotated
from creval.core.errors import CrevalError
from creval.core.files import clean_text
from creval.core.images import size_of
from creval.core.sample import Box

MOST_OF_A_CLASS, FEWEST_CLASSES = 2, 3
_NAMED = 3  # pictures in a sentence
_ARTICLE = re.compile(r"^(?:the|an?|one)\s+")


class Thing(NamedTuple):
    """An object: its name, which no other in its picture has, and its box in pixels."""

    name: str
    box: Box


def unsuited(objects: Sequence[Annotated]) -> str:
    """Why a picture of these objects is not kept, or nothing."""
    counts = Counter(one.category for one in objects)
    if any(number > MOST_OF_A_CLASS for number in counts.values()):
        return f"a class occurs more than {MOST_OF_A_CLASS} times"
    if len(counts) < FEWEST_CLASSES:
        return f"fewer than {FEWEST_CLASSES} classes occur"
    return ""


def things(objects: Sequence[Annotated], size: tuple[int, int]) -> list[Thing]:
    """Objects with names that tell two of a kind apart: `left cat`, `right cat`."""
    width, height = size
    pairs: dict[str, list[Annotated]] = {}
    for one in objects:
        pairs.setdefault(one.category, []).append(one)
    found = []
    for category, group in pairs.items():
        words = [""]
        if len(group) > 1:
            first, second = (_middle(one.box) for one in group[:2])
            aside = abs(first[0] - second[0]) * width >= abs(first[1] - second[1]) * height
            group = sorted(group, key=lambda one: _middle(one.box)[0 if aside else 1])
            words = ["left ", "right "] if aside else ["upper ", "lower "]
        for word, one in zip(words, group, strict=False):
            left, top, right, bottom = one.box
            box = (left * width, top * height, right * width, bottom * height)
            found.append(Thing(f"{word}{_plain(category)}", box))
    return found


def _plain(category: str) -> str:
    return " ".join(clean_text(category).split())[:60]


def _middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def listed(found: Sequence[Thing], size: tuple[int, int]) -> str:
    """Objects as a list for a prompt, with where each is."""
    width, height = size
    lines = []
    for name, (left, top, right, bottom) in found:
        across = f"{100 * left / width:.0f} to {100 * right / width:.0f} % from the left"
        down = f"{100 * top / height:.0f} to {100 * bottom / height:.0f} % from the top"
        lines.append(f"- {name} ({across}, {down})")
    return "\n".join(lines)


def thing_named(found: Sequence[Thing], said: str) -> Thing | None:
    """The object that a name means; nothing where it means none, or two.

    >>> thing_named([Thing("left cat", (0, 0, 1, 1)), Thing("vase", (2, 0, 3, 1))], "The vase").name
    'vase'
    """
    words = _ARTICLE.sub("", " ".join(said.casefold().split()).strip(" ."))
    exact = [thing for thing in found if thing.name.casefold() == words]
    # A part or a quality may stand around it: `person's vest`, `white vase`.
    near = [
        thing for thing in found if re.search(rf"\b{re.escape(thing.name.casefold())}\b", words)
    ]
    chosen = exact or near
    return chosen[0] if len(chosen) == 1 else None


class Seen(NamedTuple):
    """The objects in pictures, by a picture's path or by its file's name; and why some pictures
    could not be looked at."""

    objects: Mapping[str, Sequence[Annotated]]
    broken: Mapping[str, str]


class Chosen(NamedTuple):
    """Pictures that suit, with their objects; and of the others why not: they do not suit, or
    cannot be opened."""

    scenes: dict[str, list[Thing]]
    sizes: dict[str, tuple[int, int]]
    unsuited: dict[str, str]
    broken: dict[str, str]

    def reasons(self) -> list[str]:
        """Why pictures are not kept, how many, and the first of them."""
        told = []
        for reason, number in Counter(self.unsuited.values()).most_common():
            names = [name for name, why in self.unsuited.items() if why == reason][:_NAMED]
            named = ", ".join(names) + (", ..." if number > len(names) else "")
            pictures = "1 picture" if number == 1 else f"{number:,} pictures"
            told.append(f"{pictures} not kept: {reason} ({named})")
        return told


def choose(names: Iterable[str], folder: Path, seen: Seen) -> Chosen:
    """The pictures that suit chains."""
    chosen = Chosen({}, {}, {}, {})
    for name in names:
        try:
            size = size_of(folder / name)
        except (CrevalError, OSError) as error:
            chosen.broken[name] = str(error)
            continue
        if name in seen.broken:
            chosen.broken[name] = seen.broken[name]
            continue
        there = seen.objects.get(name, seen.objects.get(Path(name).name))
        reason = "there are no annotations" if there is None else unsuited(there)
        if reason or there is None:
            chosen.unsuited[name] = reason
            continue
        chosen.scenes[name], chosen.sizes[name] = things(there, size), size
    return chosen
