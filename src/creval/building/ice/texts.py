"""One item of ICE-Bench: its pictures, its three texts, who writes each of them with which pictures
in sight, and what is wrong with an instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from creval.benchmarks.ice_bench.items import NAMED, blanks
from creval.benchmarks.ice_bench.tasks import Task
from creval.building import text_rules
from creval.building.ice.templates import echoed, named, names_of
from creval.calls.text_generation import Expected, UnwrittenError
from creval.parsing.text_checks import damage, leftover, quotes

INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION = "Instruction", "SourceCaption", "TargetCaption"
PARTS = (INSTRUCTION, SOURCE_CAPTION, TARGET_CAPTION)
"""What is written of an item, by the names that the release has."""
CAPTIONER, WRITER = "captioner", "writer"
TEMPLATE, WORDS = "template", "instruction"
"""Whose texts are taken over as they are: the template's, and the instruction's."""
_EXPECTED = {SOURCE_CAPTION: (130, 60), INSTRUCTION: (300, 50), TARGET_CAPTION: (300, 90)}
"""Words that a model is sent for a text, and tokens that it writes."""
_INSTRUCTION = text_rules.length(3, 120)


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


class Step(NamedTuple):
    """A text that an item lacks: by whose model it is written, with which pictures in sight, or
    from what it is taken over."""

    part: str
    by: str
    shown: Mapping[str, Path] = {}


def steps(inputs: Inputs, template: str, told: Mapping[str, str], *, people: bool = False,
          sure: bool = True) -> list[Step]:  # fmt: skip
    """What is to be written of an item, in its order; what is `told` stays. Where `people` fill in
    templates, what they have not filled in yet stays open, and so does the description of the edit.
    Where nobody is `sure` of the task, the writer says whether it suits even if there is nothing to
    fill in."""
    found, shown = list[Step](), inputs.named()
    if inputs.source is not None and not told.get(SOURCE_CAPTION):
        seen = {"source": inputs.photograph or inputs.source}
        found.append(Step(SOURCE_CAPTION, CAPTIONER, seen))
    open_ = False
    if not told.get(INSTRUCTION):
        example = {"example": inputs.photograph} if inputs.photograph else {}
        open_ = people and bool(blanks(template))
        taken = open_ or (sure and not blanks(template))
        filled = Step(INSTRUCTION, WRITER, shown or example)
        found.append(Step(INSTRUCTION, TEMPLATE) if taken else filled)
    if not told.get(TARGET_CAPTION) and not open_:
        alone = words_alone(inputs.task)
        found.append(Step(TARGET_CAPTION, *((WORDS,) if alone else (CAPTIONER, shown))))
    return found


def expected(of: Sequence[Iterable[Step]]) -> list[Expected]:
    """What items take on average, of which these are the steps: a guess before anything is asked,
    but for the number of calls and of pictures."""
    asked = [step for each in of for step in each if step.by in (CAPTIONER, WRITER)]
    # A picture is described once, for all items that are made of it.
    once = {tuple(step.shown.values()): step for step in asked if step.part == SOURCE_CAPTION}
    asked = [*once.values(), *(step for step in asked if step.part != SOURCE_CAPTION)]
    often = Counter((step.by, step.part, len(step.shown)) for step in asked)
    return [
        Expected(by, count / len(of), *_EXPECTED[part], pictures=pictures)
        for (by, part, pictures), count in sorted(often.items())
    ]


def words_alone(task: Task) -> bool:
    """Whether a task's words are all that there is: they describe its picture, too."""
    return not task.edits and not task.reference


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
    return reason or text_rules.broken(NAMED.sub("the picture", text), length=_INSTRUCTION)


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
