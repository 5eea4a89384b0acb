"""ComplexBench-Edit's instructions for anyone's pictures: three steps of given types, those of a chain each made with
the one before in view, all checked by a second model (arXiv 2506.12830)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from creval.building import text_rules
from creval.building.complexbench import step_replies
from creval.building.complexbench.edit_types import GLOBAL, MEANINGS, EditTypePlan, draw_edit_types
from creval.building.complexbench.objects import SceneObject, find_object, format_objects
from creval.building.complexbench.step_replies import ChainStep, StepCheck
from creval.calls.text_generation import StageEstimate
from creval.calls.validated_text import (
    InvalidReplyError,
    RetriesExhaustedError,
    ValidatingSession,
    load_prompt_with_places,
)
from creval.core.files import replace_lone_surrogates
from creval.prompts import Prompt

STAGES = [StageEstimate("writer", 3, 420, 60), StageEstimate("checker", 1, 330, 160)]
_STEP_LENGTH = text_rules.length_rule(3, 45)


class ComplexBenchPrompts(NamedTuple):
    """The two prompts."""

    step: Prompt
    check: Prompt


class ImageObjects(NamedTuple):
    """A picture's objects and its size."""

    objects: Sequence[SceneObject]
    size: tuple[int, int]


def load_complexbench_prompts(folder: str | None = None) -> ComplexBenchPrompts:
    return ComplexBenchPrompts(
        load_prompt_with_places("complexbench_step", folder, "objects", "type", "before"),
        load_prompt_with_places("complexbench_check", folder, "objects", "instructions"),
    )


def choose_edit_types(name: str, level: str, scene: ImageObjects, seed: int, subset_index: int) -> EditTypePlan:
    """A picture's edit types at a level: by chance, but the same each time; a level's subsets take turns."""
    chance = random.Random(replace_lone_surrogates(f"types {seed} {level} {name}"))  # noqa: S311
    return draw_edit_types(level, [thing.name for thing in scene.objects], chance, subset_index)


async def write_sample_steps(
    session: ValidatingSession, prompts: ComplexBenchPrompts, edit_type_plan: EditTypePlan, scene: ImageObjects
) -> dict[str, Any]:
    """Three instructions that a second model finds feasible, as an entry of the release holds them.

    What it finds infeasible is written anew with its reason, and so is what builds on that.
    """
    steps: list[ChainStep | None] = [None] * len(edit_type_plan.edit_types)
    reasons = dict.fromkeys(range(len(steps)), "")
    for _ in range(session.retries + 1):
        for at in sorted(reasons):
            steps[at] = await _write_step(session, prompts.step, edit_type_plan, scene, steps, at, reasons[at])
        written = [step for step in steps if step is not None]
        checked = await _check_steps(session, prompts.check, edit_type_plan, scene, written)
        wrong = {one.number - 1: one for one in checked if not one.is_sound}
        if not wrong:
            return _build_entry(edit_type_plan, scene, written, checked)
        reasons = {at: _format_check(written[at], one) for at, one in wrong.items()}
        session.rejections += [f"feasibility, step {at + 1}: {why}" for at, why in reasons.items()]
        for at, needs in enumerate(edit_type_plan.needs):
            if at not in reasons and any(needed in reasons for needed in needs):
                reasons[at] = ""
                steps[at] = None
    last = [why for why in reasons.values() if why]
    raise RetriesExhaustedError(f"feasibility: {' '.join(last)}")


def _format_check(step: ChainStep, checked: StepCheck) -> str:
    """What a second model found wrong with a step, as a sentence."""
    faults = {
        "it does not fit the scene": checked.fits_scene,
        "it is not clear what is meant": checked.is_clear,
        "it conflicts with another instruction": not checked.has_conflict,
    }
    named = " and ".join(fault for fault, fine in faults.items() if not fine)
    said = f" ({checked.reason[:200].rstrip('.')})" if checked.reason else ""
    return f"“{step.instruction}”: {named}{said}."


async def _write_step(
    session: ValidatingSession,
    prompt: Prompt,
    edit_type_plan: EditTypePlan,
    scene: ImageObjects,
    steps: Sequence[ChainStep | None],
    at: int,
    reason: str,
) -> ChainStep:
    kind, needs = edit_type_plan.edit_types[at], edit_type_plan.needs[at]
    before = [step for needed in needs if (step := steps[needed]) is not None]
    later = next((edit_type_plan.edit_types[other] for other, n in enumerate(edit_type_plan.needs) if at in n), "")
    apart = [step for other, step in enumerate(steps) if step and _are_independent(edit_type_plan, at, other)]
    last = steps[at]

    def read(text: str) -> ChainStep:
        found = step_replies.read_step(text)
        if found is None:
            raise InvalidReplyError("format: one instruction, and only one, is needed")
        if broken := text_rules.find_violation(found.instruction, length=_STEP_LENGTH):
            raise InvalidReplyError(broken)
        if last is not None and found.instruction.casefold() == last.instruction.casefold():
            raise InvalidReplyError("repetition: it is the one that was not accepted")
        return _validate_step(found, kind, scene, before, apart)

    return await session.generate_until_valid(
        "writer",
        f"step {at + 1}",
        prompt,
        read,
        reason=reason,
        objects=format_objects(scene.objects, scene.size),
        type=kind,
        meaning=MEANINGS[kind],
        before=" ".join(step.instruction for step in before),
        others="\n".join(f"- {step.instruction}" for step in apart),
        later=MEANINGS[later] if later else "",
        format=step_replies.STEP_FORMAT,
    )


def _are_independent(edit_type_plan: EditTypePlan, one: int, other: int) -> bool:
    """Whether two steps are different ones of which none builds on the other."""
    return one != other and not _depends_on(edit_type_plan, one, other) and not _depends_on(edit_type_plan, other, one)


def _depends_on(edit_type_plan: EditTypePlan, start: int, end: int) -> bool:
    return any(needed == end or _depends_on(edit_type_plan, needed, end) for needed in edit_type_plan.needs[start])


def _validate_step(
    found: ChainStep, kind: str, scene: ImageObjects, before: Sequence[ChainStep], apart: Sequence[ChainStep]
) -> ChainStep:
    """A step that keeps the rules of its type, its objects called as they are listed."""
    if kind in GLOBAL:
        return found._replace(old="", new="")
    if kind in ("add object", "change object") and not found.new:
        raise InvalidReplyError("result: `new` does not say what is new in the picture")
    if kind not in ("add object", "change object"):
        found = found._replace(new="")
    if before:
        made = before[-1].new or before[-1].old
        if made and not _mentions(found.instruction, made):
            raise InvalidReplyError(f"chain: it does not name the {made} of the instruction before")
        return found._replace(old="" if kind == "add object" else made)
    if kind == "add object":
        return found._replace(old="")
    thing = find_object(scene.objects, found.old)
    if thing is None:
        raise InvalidReplyError(f"reference: `old` is “{found.old[:60]}”, which is not in the list")
    if any(thing.name == other.old for other in apart):
        raise InvalidReplyError(f"independence: the {thing.name} is changed by another instruction")
    return found._replace(old=thing.name)


def _mentions(instruction: str, thing: str) -> bool:
    """Whether an instruction names a thing, by its last word at least."""
    word = re.findall(r"\w+", thing.casefold())[-1:]
    return bool(word) and re.search(rf"\b{re.escape(word[0])}", instruction.casefold()) is not None


async def _check_steps(
    session: ValidatingSession,
    prompt: Prompt,
    edit_type_plan: EditTypePlan,
    scene: ImageObjects,
    steps: Sequence[ChainStep],
) -> list[StepCheck]:
    def read(text: str) -> list[StepCheck]:
        found = step_replies.read_step_checks(text, len(steps))
        if found is None:
            raise InvalidReplyError("format: every instruction needs one yes or no for each question")
        return found

    chain = [
        f"Instruction {at + 1} builds on what instruction {needed + 1} makes."
        for at, needs in enumerate(edit_type_plan.needs)
        for needed in needs
    ]
    return await session.generate_until_valid(
        "checker",
        "check",
        prompt,
        read,
        objects=format_objects(scene.objects, scene.size),
        instructions="\n".join(f"{at}. {step.instruction}" for at, step in enumerate(steps, 1)),
        chain=" ".join(chain),
        format=step_replies.CHECK_FORMAT,
    )


def _build_entry(
    edit_type_plan: EditTypePlan, scene: ImageObjects, steps: Sequence[ChainStep], checked: Sequence[StepCheck]
) -> dict[str, Any]:
    boxes = {thing.name: thing.box for thing in scene.objects}
    pairs = []
    for kind, step, one in zip(edit_type_plan.edit_types, steps, checked, strict=True):
        pair: dict[str, Any] = {"edit_type": kind, "ori obj": step.old or "nothing", "new_obj": step.new or "nothing"}
        if step.old in boxes:
            pair["bbox"] = [round(side, 1) for side in boxes[step.old]]
        if one.reason:
            pair["checked"] = one.reason
        pairs.append(pair)
    return {"new_ins": "\n".join(step.instruction for step in steps), "edit pair": pairs}
