"""Inputs and texts of an ICE-Bench item, who writes its missing texts, and validation of instructions."""

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
"""Texts of an item, by their names in the release."""
CAPTIONER, WRITER = "captioner", "writer"
FROM_TEMPLATE, FROM_INSTRUCTION = "template", "instruction"
"""Authors of texts that are copied: from the template, or from the instruction."""
_TEXT_COSTS = {SOURCE_CAPTION: (130, 60), INSTRUCTION: (300, 50), TARGET_CAPTION: (300, 90)}
"""Words of a request and tokens of a reply, by text."""
_INSTRUCTION_LENGTH = text_rules.length_rule(3, 120)


class TaskUnsuitableError(GenerationFailedError):
    """The task does not suit the image."""


@dataclass(frozen=True)
class ItemInputs:
    """Inputs of an editor for a task.

    `photograph` is the image from which the source was derived. In a task without a source, it is an example of what
    the editor should create.
    """

    task: Task
    source: Path | None = None
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    photograph: Path | None = None

    @property
    def main_image(self) -> Path | None:
        """The first image in the order source, mask, references, photograph."""
        return next(iter(self.images_by_role().values()), self.photograph)

    def images_by_role(self) -> dict[str, Path]:
        """Return all images by role: source, mask, reference 1 ..."""
        found = {"source": self.source, "mask": self.mask}
        found |= {f"reference {n}": path for n, path in enumerate(self.references, 1)}
        return {name: path for name, path in found.items() if path is not None}


@dataclass
class ItemTexts:
    """Texts of an item, and who wrote them. A text that is not written yet is empty."""

    texts: dict[str, str]
    authors: dict[str, str] = field(default_factory=dict)


class MissingText(NamedTuple):
    """A text that an item lacks: who writes it (a model's role, or the text that is copied), and the images to show."""

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
    """Return the texts that an item lacks, in the order of writing.

    - `people_fill_in`: people fill in blanks. A template with blanks is copied, and its target caption is not listed.
    - `task_is_certain`: if false, the writer decides whether the task suits, even if the template has no blanks.
    """
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
    """Return the calls for an average item. The numbers of calls and images are exact, tokens are estimates."""
    asked = [step for each in missing_by_item for step in each if step.author in (CAPTIONER, WRITER)]
    # An image is described once for all of its items.
    once = {tuple(step.images.values()): step for step in asked if step.text_field == SOURCE_CAPTION}
    asked = [*once.values(), *(step for step in asked if step.text_field != SOURCE_CAPTION)]
    often = Counter((step.author, step.text_field, len(step.images)) for step in asked)
    return [
        StageEstimate(by, count / len(missing_by_item), *_TEXT_COSTS[part], images=images)
        for (by, part, images), count in sorted(often.items())
    ]


def is_text_only(task: Task) -> bool:
    """Return whether a task has no images as input. Its instruction describes the result too."""
    return not task.has_source and not task.reference_metric


def invalid_instruction_reason(text: str, inputs: ItemInputs, template: str) -> str:
    """Return why an instruction is invalid for these inputs, or ""."""
    if open_ := find_blanks(text) or find_echoed_blanks(text, template):
        return f"blank: {{{open_[0]}}} is not filled in"
    if lost := find_missing_image_tags(text, template):
        return f"pictures: {lost[0]} is not named"
    if find_quotes(template) and not find_quotes(text):
        return "quotation marks: the words to be written must stand in them"
    reason = invalid_text_reason(text, allowed_image_tags(inputs.task, len(inputs.references)))
    # Image tags look like leftover markup.
    return reason or text_rules.find_violation(IMAGE_REFERENCE.sub("the picture", text), length=_INSTRUCTION_LENGTH)


def invalid_text_reason(text: str, allowed_tags: Collection[str]) -> str:
    """Return why a user's text, in any language and of any length, is invalid with these image tags, or ""."""
    if wrong := sorted(set(find_image_tags(text)) - set(allowed_tags)):
        return f"pictures: there is no {wrong[0]}"
    bare = IMAGE_REFERENCE.sub("the picture", text)
    reason = damage_reason(bare) or leftover_markup_reason(bare)
    return f"garbled text: {reason}" if reason else ""


def find_missing_image_tags(text: str, template: str) -> list[str]:
    """Return the image tags that occur in a template but not in a text."""
    return [name for name in find_image_tags(template) if name not in find_image_tags(text)]
