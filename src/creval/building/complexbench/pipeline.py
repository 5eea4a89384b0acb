"""ComplexBench-Edit's instructions for anyone's pictures: three steps of given types, those of a
chain each made with the one before in view, all checked by a second model (arXiv 2506.12830).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from creval.building import text_rules
from creval.building.complex_edit import replies
from creval.building.complex_edit.replies import Checked, Written
from creval.building.complexbench.edit_types import GLOBAL, MEANINGS, Types, draw_types
from creval.building.complexbench.objects import Thing, listed, thing_named
from creval.calls.text_generation import Expected
from creval.calls.validated_text import NotAcceptedError, RejectedError, Scribe, load_text
from creval.core.files import clean_text
from creval.prompts import Prompt

STAGES = [Expected("writer", 3, 420, 60), Expected("checker", 1, 330, 160)]
_LENGTH = text_rules.length(3, 45)


class Texts(NamedTuple):
    """The two prompts."""

    step: Prompt
    check: Prompt


class Scene(NamedTuple):
    """A picture's objects and its size."""

    things: Sequence[Thing]
    size: tuple[int, int]


def load_texts(folder: str | None = None) -> Texts:
    return Texts(
        load_text("complexbench_step", folder, "objects", "type", "before"),
        load_text("complexbench_check", folder, "objects", "instructions"),
    )


def types_of(name: str, level: str, scene: Scene, seed: int, turn: int) -> Types:
    """A picture's edit types at a level: by chance, but the same each time; a level's subsets take
    turns."""
    chance = random.Random(clean_text(f"types {seed} {level} {name}"))  # noqa: S311
    return draw_types(level, [thing.name for thing in scene.things], chance, turn)


async def write_sample(scribe: Scribe, texts: Texts, types: Types, scene: Scene) -> dict[str, Any]:
    """Three instructions that a second model finds feasible, as an entry of the release holds them.

    What it finds infeasible is written anew with its reason, and so is what builds on that.
    """
    steps: list[Written | None] = [None] * len(types.kinds)
    reasons = dict.fromkeys(range(len(steps)), "")
    for _ in range(scribe.retries + 1):
        for at in sorted(reasons):
            steps[at] = await _write_step(scribe, texts.step, types, scene, steps, at, reasons[at])
        written = [step for step in steps if step is not None]
        checked = await _check(scribe, texts.check, types, scene, written)
        wrong = {one.number - 1: one for one in checked if not one.sound}
        if not wrong:
            return _entry(types, scene, written, checked)
        reasons = {at: _why(written[at], one) for at, one in wrong.items()}
        scribe.rejected += [f"feasibility, step {at + 1}: {why}" for at, why in reasons.items()]
        for at, needs in enumerate(types.needs):
            if at not in reasons and any(needed in reasons for needed in needs):
                reasons[at] = ""
                steps[at] = None
    last = [why for why in reasons.values() if why]
    raise NotAcceptedError(f"feasibility: {' '.join(last)}")


def _why(step: Written, checked: Checked) -> str:
    """What a second model found wrong with a step, as a sentence."""
    faults = {
        "it does not fit the scene": checked.scene,
        "it is not clear what is meant": checked.reference,
        "it conflicts with another instruction": not checked.conflict,
    }
    named = " and ".join(fault for fault, fine in faults.items() if not fine)
    said = f" ({checked.reason[:200].rstrip('.')})" if checked.reason else ""
    return f"“{step.instruction}”: {named}{said}."


async def _write_step(
    scribe: Scribe,
    prompt: Prompt,
    types: Types,
    scene: Scene,
    steps: Sequence[Written | None],
    at: int,
    reason: str,
) -> Written:
    kind, needs = types.kinds[at], types.needs[at]
    before = [step for needed in needs if (step := steps[needed]) is not None]
    later = next((types.kinds[other] for other, n in enumerate(types.needs) if at in n), "")
    apart = [step for other, step in enumerate(steps) if step and _apart(types, at, other)]
    last = steps[at]

    def read(text: str) -> Written:
        found = replies.read_step(text)
        if found is None:
            raise RejectedError("format: one instruction, and only one, is needed")
        if broken := text_rules.broken(found.instruction, length=_LENGTH):
            raise RejectedError(broken)
        if last is not None and found.instruction.casefold() == last.instruction.casefold():
            raise RejectedError("repetition: it is the one that was not accepted")
        return _sound(found, kind, scene, before, apart)

    return await scribe.insist(
        "writer", f"step {at + 1}", prompt, read, reason=reason,
        objects=listed(scene.things, scene.size), type=kind, meaning=MEANINGS[kind],
        before=" ".join(step.instruction for step in before),
        others="\n".join(f"- {step.instruction}" for step in apart),
        later=MEANINGS[later] if later else "", format=replies.STEP_FORMAT,
    )  # fmt: skip


def _apart(types: Types, one: int, other: int) -> bool:
    """Whether two steps are different ones of which none builds on the other."""
    return one != other and not _reaches(types, one, other) and not _reaches(types, other, one)


def _reaches(types: Types, start: int, end: int) -> bool:
    return any(needed == end or _reaches(types, needed, end) for needed in types.needs[start])


def _sound(
    found: Written, kind: str, scene: Scene, before: Sequence[Written], apart: Sequence[Written]
) -> Written:
    """A step that keeps the rules of its type, its objects called as they are listed."""
    if kind in GLOBAL:
        return found._replace(old="", new="")
    if kind in ("add object", "change object") and not found.new:
        raise RejectedError("result: `new` does not say what is new in the picture")
    if kind not in ("add object", "change object"):
        found = found._replace(new="")
    if before:
        made = before[-1].new or before[-1].old
        if made and not _names(found.instruction, made):
            raise RejectedError(f"chain: it does not name the {made} of the instruction before")
        return found._replace(old="" if kind == "add object" else made)
    if kind == "add object":
        return found._replace(old="")
    thing = thing_named(scene.things, found.old)
    if thing is None:
        raise RejectedError(f"reference: `old` is “{found.old[:60]}”, which is not in the list")
    if any(thing.name == other.old for other in apart):
        raise RejectedError(f"independence: the {thing.name} is changed by another instruction")
    return found._replace(old=thing.name)


def _names(instruction: str, thing: str) -> bool:
    """Whether an instruction names a thing, by its last word at least."""
    word = re.findall(r"\w+", thing.casefold())[-1:]
    return bool(word) and re.search(rf"\b{re.escape(word[0])}", instruction.casefold()) is not None


async def _check(
    scribe: Scribe, prompt: Prompt, types: Types, scene: Scene, steps: Sequence[Written]
) -> list[Checked]:
    def read(text: str) -> list[Checked]:
        found = replies.read_checked(text, len(steps))
        if found is None:
            raise RejectedError("format: every instruction needs one yes or no for each question")
        return found

    chain = [
        f"Instruction {at + 1} builds on what instruction {needed + 1} makes."
        for at, needs in enumerate(types.needs)
        for needed in needs
    ]
    return await scribe.insist(
        "checker", "check", prompt, read, objects=listed(scene.things, scene.size),
        instructions="\n".join(f"{at}. {step.instruction}" for at, step in enumerate(steps, 1)),
        chain=" ".join(chain), format=replies.CHECK_FORMAT,
    )  # fmt: skip


def _entry(
    types: Types, scene: Scene, steps: Sequence[Written], checked: Sequence[Checked]
) -> dict[str, Any]:
    boxes = {thing.name: thing.box for thing in scene.things}
    pairs = []
    for kind, step, one in zip(types.kinds, steps, checked, strict=True):
        pair: dict[str, Any] = {
            "edit_type": kind,
            "ori obj": step.old or "nothing",
            "new_obj": step.new or "nothing",
        }
        if step.old in boxes:
            pair["bbox"] = [round(side, 1) for side in boxes[step.old]]
        if one.reason:
            pair["checked"] = one.reason
        pairs.append(pair)
    return {"new_ins": "\n".join(step.instruction for step in steps), "edit pair": pairs}
