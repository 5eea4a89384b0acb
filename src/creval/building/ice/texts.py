"""One item of ICE-Bench: its images, its three texts, who writes each of them with which images in sight, and what is
wrong with an instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.ice_bench.item_lines import IMAGE_REFERENCE, find_blanks
from creval.benchmarks.ice_bench.tasks import Task
from creval.building import text_rules
from creval.building.ice.templates import allowed_image_tags, find_echoed_blanks, find_image_tags
from creval.calls.text_generation import GenerationFailedError, StageEstimate
from creval.parsing.text_checks import damage_reason, find_quotes, leftover_markup_reason

INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION = "Instruction", "SourceCaption", "TargetCaption"
TEXT_FIELDS = (INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION)
"""What is written of an item, by the names that the release has."""
CAPTIONER, WRITER = "captioner", "writer"
FROM_TEMPLATE, FROM_INSTRUCTION = "template", "instruction"
"""Whose texts are taken over as they are: the template's, and the instruction's."""
_TEXT_COSTS = {SOURCE_CAPTION: (130, 60), INSTRUCTION: (300, 50), TARGET_CAPTION: (300, 90)}
"""Words that a model is sent for a text, and tokens that it writes."""
_INSTRUCTION_LENGTH = text_rules.length_rule(3, 120)


class TaskUnsuitableError(GenerationFailedError):
    """A task that makes no sense for an image."""


@dataclass(frozen=True)
class ItemInputs:
    """What an editor is given for a task; and the photograph, where the source was made of one or there is none."""

    task: Task
    source: Path | None = None
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    photograph: Path | None = None

    @property
    def main_image(self) -> Path | None:
        """The image that stands for all of them."""
        return next(iter(self.images_by_role().values()), self.photograph)

    def images_by_role(self) -> dict[str, Path]:
        """Return all images, by what they are."""
        found = {"source": self.source, "mask": self.mask}
        found |= {f"reference {n}": path for n, path in enumerate(self.references, 1)}
        return {name: path for name, path in found.items() if path is not None}


@dataclass
class ItemTexts:
    """The texts of an item: what is empty is still to be written. `authors` says who wrote each."""

    texts: dict[str, str]
    authors: dict[str, str] = field(default_factory=dict)


class MissingText(NamedTuple):
    """A text that an item lacks: by whose model it is written, with which images in sight, or what it is taken from."""

    text_field: str
    author: str
    images: Mapping[str, Path] = {}


def find_missing_texts(
    inputs: ItemInputs,
    template: str,
    existing: Mapping[str, str],
    *,
    people_fill_in: bool = False,
    task_is_certain: bool = True,
) -> list[MissingText]:
    """Return what is to be written of an item, in its order; what is `existing` stays. Where `people_fill_in` fill in
    templates, what they have not filled in yet stays open, and so does the description of the edit. Where nobody is
    `task_is_certain` of the task, the writer says whether it suits even if there is nothing to fill in."""
    found, shown = list[MissingText](), inputs.images_by_role()
    if inputs.source is not None and not existing.get(SOURCE_CAPTION):
        seen = {"source": inputs.photograph or inputs.source}
        found.append(MissingText(SOURCE_CAPTION, CAPTIONER, seen))
    open_ = False
    if not existing.get(INSTRUCTION):
        example = {"example": inputs.photograph} if inputs.photograph else {}
        open_ = people_fill_in and bool(find_blanks(template))
        taken = open_ or (task_is_certain and not find_blanks(template))
        filled = MissingText(INSTRUCTION, WRITER, shown or example)
        found.append(MissingText(INSTRUCTION, FROM_TEMPLATE) if taken else filled)
    if not existing.get(TARGET_CAPTION) and not open_:
        alone = is_text_only(inputs.task)
        found.append(MissingText(TARGET_CAPTION, *((FROM_INSTRUCTION,) if alone else (CAPTIONER, shown))))
    return found


def estimate_text_stages(missing_by_item: Sequence[Iterable[MissingText]]) -> list[StageEstimate]:
    """Return what items take on average, of which these are the steps: a guess before anything is asked, but for the
    number of calls and of images."""
    asked = [step for each in missing_by_item for step in each if step.author in (CAPTIONER, WRITER)]
    # An image is described once, for all items that are made of it.
    once = {tuple(step.images.values()): step for step in asked if step.text_field == SOURCE_CAPTION}
    asked = [*once.values(), *(step for step in asked if step.text_field != SOURCE_CAPTION)]
    often = Counter((step.author, step.text_field, len(step.images)) for step in asked)
    return [
        StageEstimate(by, count / len(missing_by_item), *_TEXT_COSTS[part], images=images)
        for (by, part, images), count in sorted(often.items())
    ]


def is_text_only(task: Task) -> bool:
    """Return whether a task's words are all that there is: they describe its image, too."""
    return not task.has_source and not task.reference_metric


def invalid_instruction_reason(text: str, inputs: ItemInputs, template: str) -> str:
    """Return what is wrong with an instruction for these images, if anything is."""
    if open_ := find_blanks(text) or find_echoed_blanks(text, template):
        return f"blank: {{{open_[0]}}} is not filled in"
    if lost := find_missing_image_tags(text, template):
        return f"pictures: {lost[0]} is not named"
    if find_quotes(template) and not find_quotes(text):
        return "quotation marks: the words to be written must stand in them"
    reason = invalid_text_reason(text, allowed_image_tags(inputs.task, len(inputs.references)))
    # Names of images look like what is left of a format.
    return reason or text_rules.find_violation(IMAGE_REFERENCE.sub("the picture", text), length=_INSTRUCTION_LENGTH)


def invalid_text_reason(text: str, allowed_tags: Collection[str]) -> str:
    """Return why people's own words, in any language and of any length, cannot stand for images of these names."""
    if wrong := sorted(set(find_image_tags(text)) - set(allowed_tags)):
        return f"pictures: there is no {wrong[0]}"
    bare = IMAGE_REFERENCE.sub("the picture", text)
    reason = damage_reason(bare) or leftover_markup_reason(bare)
    return f"garbled text: {reason}" if reason else ""


def find_missing_image_tags(text: str, template: str) -> list[str]:
    """Return the images that a template names, and a text does not."""
    return [name for name in find_image_tags(template) if name not in find_image_tags(text)]
