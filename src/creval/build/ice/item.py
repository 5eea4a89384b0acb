"""One item of ICE-Bench: a description of the source, an instruction, and a description of what an
ideal edit would show, by a model that sees all inputs (arXiv 2503.14482, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.ice_items import NAMED, blanks
from creval.benchmarks.ice_tasks import Task
from creval.build import wording
from creval.build.ice import replies
from creval.build.ice.kits import KITS
from creval.build.ice.templates import echoed, named, names_of
from creval.build.scribe import RejectedError, Scribe, load_text
from creval.build.words import damage, leftover, quotes
from creval.engine.writing import Expected, UnwrittenError
from creval.prompts import Prompt

INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION = "Instruction", "SourceCaption", "TargetCaption"
PARTS = (INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION)
"""What is written of an item, by the names that the release has."""
_CAPTION = wording.length(4, 60)  # CLIP reads no more, about
_INSTRUCTION = wording.length(3, 120)
_ABOUT_EDITING = re.compile(
    r"\b(?:edited|original|source|resulting|output|reference|control) (?:image|picture|photo)|"
    r"\bmasked (?:part|area|region)\b|[<\[](?:SOURCE|REF_)",
    re.IGNORECASE,
)


class Texts(NamedTuple):
    """The three prompts."""

    caption: Prompt
    fill: Prompt
    target: Prompt


def load_texts(folder: str | None = None) -> Texts:
    return Texts(
        load_text("ice_caption", folder),
        load_text("ice_instruction", folder, "template"),
        load_text("ice_target", folder, "instruction"),
    )


def stages(described: float, written: float, imagined: float) -> list[Expected]:
    """What an item takes, before anything is asked: of so many the source is described, the
    instruction written, and the edit imagined."""
    return [
        Expected("captioner", described, 130, 60),
        Expected("writer", written, 300, 50, pictures=2),
        Expected("captioner", imagined, 300, 90, pictures=2),
    ]


class UnsuitedError(UnwrittenError):
    """A task that makes no sense for a picture."""


@dataclass(frozen=True)
class Inputs:
    """What an editor is given for a task; and the photograph, where the source was made of one or
    there is none."""

    task: Task
    source: Path | None = None
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    photograph: Path | None = None

    @property
    def first(self) -> Path | None:
        """The picture that stands for all of them."""
        return next(iter(self.named().values()), self.photograph)

    def named(self) -> dict[str, Path]:
        """All pictures, by what they are."""
        found = {"source": self.source, "mask": self.mask}
        found |= {f"reference {n}": path for n, path in enumerate(self.references, 1)}
        return {name: path for name, path in found.items() if path is not None}


@dataclass
class Written:
    """The texts of an item: what is empty is still to be written. `by` says who wrote each."""

    texts: dict[str, str]
    by: dict[str, str] = field(default_factory=dict)


async def write_item(scribe: Scribe, texts: Texts, inputs: Inputs, template: str, told: Written,
                     *, people: bool = False, sure: bool = True) -> Written:  # fmt: skip
    """All texts of an item. What is `told` stays; where `people` fill in templates, what they have
    not filled in yet stays open, and so does the description of the edit. Where nobody is `sure` of
    the task, the writer says whether it suits even if there is nothing to fill in."""
    task = inputs.task
    made = Written(dict.fromkeys(PARTS, "") | told.texts, dict(told.by))
    if not made.texts[SOURCE_CAPTION] and inputs.source is not None:
        seen = [inputs.photograph or inputs.source]
        made.texts[SOURCE_CAPTION] = await _caption(scribe, texts.caption, seen)
        made.by[SOURCE_CAPTION] = "captioner"
    if not made.texts[INSTRUCTION]:
        made.texts[INSTRUCTION], made.by[INSTRUCTION] = template, "template"
        if not people if blanks(template) else not sure:
            said = await _filled(scribe, texts.fill, inputs, template, made)
            made.texts[INSTRUCTION], made.by[INSTRUCTION] = said, "writer"
    if blanks(made.texts[INSTRUCTION]) or made.texts[TARGET_CAPTION]:
        return made
    if words_alone(task):
        made.texts[TARGET_CAPTION] = made.texts[INSTRUCTION]
        made.by[TARGET_CAPTION] = "instruction"
        return made
    made.texts[TARGET_CAPTION] = await _target(scribe, texts.target, inputs, made)
    made.by[TARGET_CAPTION] = "captioner"
    return made


def words_alone(task: Task) -> bool:
    """Whether a task's words are all that there is: they describe its picture, too."""
    return not task.edits and not task.reference


async def _caption(scribe: Scribe, prompt: Prompt, show: Sequence[Path]) -> str:
    def read(text: str) -> str:
        return _sound(replies.read_caption(text), length=_CAPTION)

    return await scribe.insist(
        "captioner", "source caption", prompt, read, show=show, format=replies.CAPTION_FORMAT
    )


async def _filled(
    scribe: Scribe, prompt: Prompt, inputs: Inputs, template: str, made: Written
) -> str:
    task = inputs.task
    shown = inputs.named()
    if not shown and inputs.photograph is not None:
        shown = {"example": inputs.photograph}

    def read(text: str) -> str:
        found = replies.read_filled(text)
        if found is None:
            raise RejectedError("format: one instruction, and only one, is needed")
        if found.unsuited:
            raise UnsuitedError(f"{task.name} does not suit: {found.unsuited}"[:300])
        if reason := instruction_fault(found.instruction, inputs, template):
            raise RejectedError(reason)
        return found.instruction

    return await scribe.insist(
        "writer", f"instruction for {task.name}", prompt, read, show=list(shown.values()),
        pictures=_told(shown), task=task.name, meaning=KITS[task.name].meaning,
        **_described(inputs, made), template=template, format=replies.FILL_FORMAT,
    )  # fmt: skip


async def _target(scribe: Scribe, prompt: Prompt, inputs: Inputs, made: Written) -> str:
    instruction = made.texts[INSTRUCTION]
    shown = inputs.named()

    def about_editing(text: str) -> str:
        match = _ABOUT_EDITING.search(text)
        return f"it speaks of the editing (“{match[0]}”), not of what is seen" if match else ""

    def read(text: str) -> str:
        return _sound(
            replies.read_caption(text), length=_CAPTION, subject=about_editing,
            lost_words=wording.keeps(quotes(instruction) if "Render" in inputs.task.name else ()),
        )  # fmt: skip

    return await scribe.insist(
        "captioner", "target caption", prompt, read, show=list(shown.values()),
        pictures=_told(shown), task=inputs.task.name, meaning=KITS[inputs.task.name].meaning,
        **_described(inputs, made), instruction=instruction, format=replies.CAPTION_FORMAT,
    )  # fmt: skip


def _described(inputs: Inputs, made: Written) -> dict[str, str]:
    """The description of the source, or of the photograph that it was made of."""
    said = made.texts[SOURCE_CAPTION]
    of_source = inputs.photograph is None
    return {"caption": said if of_source else "", "photograph": "" if of_source else said}


def _told(shown: dict[str, Path]) -> str:
    """Which picture is which."""
    words = {
        "source": "the picture to work from, <SOURCE>",
        "mask": "a mask, white where <SOURCE> is to change",
        "example": "an example of what people would like to see",
    }
    return "\n".join(
        f"Picture {at} is {words.get(name) or _reference(name)}."
        for at, name in enumerate(shown, 1)
    )


def _reference(name: str) -> str:
    return f"a picture to refer to, <REF_{name.removeprefix('reference ')}>"


def _sound(text: str, **rules: wording.Rule) -> str:
    if not text:
        raise RejectedError("format: one description, and only one, is needed")
    if reason := wording.broken(text, **rules):
        raise RejectedError(reason)
    return text


def instruction_fault(text: str, inputs: Inputs, template: str) -> str:
    """What is wrong with an instruction for these pictures, if anything is."""
    if open_ := blanks(text) or echoed(text, template):
        return f"blank: {{{open_[0]}}} is not filled in"
    if lost := lost_names(text, template):
        return f"pictures: {lost[0]} is not named"
    if quotes(template) and not quotes(text):
        return "quotation marks: the words to be written must stand in them"
    reason = own_fault(text, names_of(inputs.task, len(inputs.references)))
    # Names of pictures look like what is left of a format.
    return reason or wording.broken(NAMED.sub("the picture", text), length=_INSTRUCTION)


def own_fault(text: str, names: Collection[str]) -> str:
    """Why people's own words cannot stand for pictures of these names; they may be in any language
    and of any length."""
    if wrong := sorted(set(named(text)) - set(names)):
        return f"pictures: there is no {wrong[0]}"
    bare = NAMED.sub("the picture", text)
    reason = damage(bare) or leftover(bare)
    return f"garbled text: {reason}" if reason else ""


def lost_names(text: str, template: str) -> list[str]:
    """The pictures that a template names, and a text does not."""
    return [name for name in named(template) if name not in named(text)]
