"""ComplexBench-Edit's instructions for any images (arXiv 2506.12830).

A model writes three steps of given types. In a chain, the request for a step contains the steps that it depends on. A
second model checks all steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from creval.building import text_rules
from creval.building.complexbench import step_replies
from creval.building.complexbench.edit_types import GLOBAL, MEANINGS, EditTypePlan
from creval.building.complexbench.objects import ImageObjects, find_object
from creval.building.complexbench.step_replies import ChainStep, StepCheck
from creval.calls.text_generation import StageEstimate
from creval.calls.validated_text import (
    InvalidReplyError,
    RetriesExhaustedError,
    ValidatingSession,
    load_prompt_with_places,
)
from creval.prompts import Prompt

STAGES = [StageEstimate("writer", 3, 420, 60), StageEstimate("checker", 1, 330, 160)]
_STEP_LENGTH = text_rules.length_rule(3, 45)


def load_complexbench_prompts(folder: str | None = None) -> dict[str, Prompt]:
    places = {"step": ("objects", "type", "before"), "check": ("objects", "instructions")}
    return {name: load_prompt_with_places(f"complexbench_{name}", folder, *needs) for name, needs in places.items()}


@dataclass(frozen=True)
class StepWriter:
    """Writer of three instructions for an image. A second model checks that they are feasible."""

    session: ValidatingSession
    prompts: Mapping[str, Prompt]
    plan: EditTypePlan
    scene: ImageObjects

    async def write(self) -> dict[str, Any]:
        """Return a sample's entry in the form of the release.

        The model is told why a step is infeasible and writes it again, followed by the steps that depend on it.
        """
        steps: list[ChainStep | None] = [None] * len(self.plan.edit_types)
        reasons = dict.fromkeys(range(len(steps)), "")
        for _ in range(self.session.retries + 1):
            for at in sorted(reasons):
                steps[at] = await self._write_step(steps, at, reasons[at])
            written = [step for step in steps if step is not None]
            checked = await self._check_steps(written)
            wrong = {one.number - 1: one for one in checked if not one.is_sound}
            if not wrong:
                return self._build_entry(written, checked)
            reasons = {at: _format_check(written[at], one) for at, one in wrong.items()}
            self.session.rejections += [f"feasibility, step {at + 1}: {why}" for at, why in reasons.items()]
            for at, needs in enumerate(self.plan.needs):
                if at not in reasons and any(needed in reasons for needed in needs):
                    reasons[at] = ""
                    steps[at] = None
        last_reasons = [why for why in reasons.values() if why]
        raise RetriesExhaustedError(f"feasibility: {' '.join(last_reasons)}")

    async def _write_step(self, steps: Sequence[ChainStep | None], at: int, reason: str) -> ChainStep:
        kind, needs = self.plan.edit_types[at], self.plan.needs[at]
        before = [step for needed in needs if (step := steps[needed]) is not None]
        later = next((self.plan.edit_types[other] for other, n in enumerate(self.plan.needs) if at in n), "")
        related = {at} | self._find_ancestors(at)
        related |= {other for other in range(len(steps)) if at in self._find_ancestors(other)}
        apart = [step for other, step in enumerate(steps) if step and other not in related]
        last = steps[at]

        def read(text: str) -> ChainStep:
            found = step_replies.read_step(text)
            if found is None:
                raise InvalidReplyError("format: one instruction, and only one, is needed")
            text_rules.require_valid(found.instruction, length=_STEP_LENGTH)
            if last is not None and found.instruction.casefold() == last.instruction.casefold():
                raise InvalidReplyError("repetition: this instruction was already rejected")
            return self._validate_step(found, kind, before, apart)

        return await self.session.generate_until_valid(
            "writer",
            f"step {at + 1}",
            self.prompts["step"],
            read,
            reason=reason,
            objects=self.scene.describe(),
            type=kind,
            meaning=MEANINGS[kind],
            before=" ".join(step.instruction for step in before),
            others="\n".join(f"- {step.instruction}" for step in apart),
            later=MEANINGS[later] if later else "",
            format=step_replies.STEP_FORMAT,
        )

    def _find_ancestors(self, at: int) -> set[int]:
        """Return the steps that a step depends on, directly or indirectly."""
        return set(self.plan.needs[at]).union(*map(self._find_ancestors, self.plan.needs[at]))

    def _validate_step(
        self, found: ChainStep, kind: str, before: Sequence[ChainStep], apart: Sequence[ChainStep]
    ) -> ChainStep:
        """Return the step with its objects named as in the list. Raises `InvalidReplyError` if the step is invalid."""
        if kind in GLOBAL:
            return found._replace(old="", new="")
        if kind in ("add object", "change object") and not found.new:
            raise InvalidReplyError("result: `new` does not say what is new in the picture")
        if kind not in ("add object", "change object"):
            found = found._replace(new="")
        if before:
            made = before[-1].new or before[-1].old
            if made and not _mentions(found.instruction, made):
                raise InvalidReplyError(f"chain: it does not name the {made} of the previous instruction")
            return found._replace(old="" if kind == "add object" else made)
        if kind == "add object":
            return found._replace(old="")
        thing = find_object(self.scene.objects, found.old)
        if thing is None:
            raise InvalidReplyError(f"reference: `old` is “{found.old[:60]}”, which is not in the list")
        if any(thing.name == other.old for other in apart):
            raise InvalidReplyError(f"independence: the {thing.name} is changed by another instruction")
        return found._replace(old=thing.name)

    async def _check_steps(self, steps: Sequence[ChainStep]) -> list[StepCheck]:
        def read(text: str) -> list[StepCheck]:
            found = step_replies.read_step_checks(text, len(steps))
            if found is None:
                raise InvalidReplyError("format: every instruction needs one yes or no for each question")
            return found

        chain = [
            f"Instruction {at + 1} builds on what instruction {needed + 1} makes."
            for at, needs in enumerate(self.plan.needs)
            for needed in needs
        ]
        return await self.session.generate_until_valid(
            "checker",
            "check",
            self.prompts["check"],
            read,
            objects=self.scene.describe(),
            instructions="\n".join(f"{at}. {step.instruction}" for at, step in enumerate(steps, 1)),
            chain=" ".join(chain),
            format=step_replies.CHECK_FORMAT,
        )

    def _build_entry(self, steps: Sequence[ChainStep], checked: Sequence[StepCheck]) -> dict[str, Any]:
        boxes = {thing.name: thing.box for thing in self.scene.objects}
        pairs = []
        for kind, step, one in zip(self.plan.edit_types, steps, checked, strict=True):
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


def _format_check(step: ChainStep, checked: StepCheck) -> str:
    """Return the second model's objections to a step as a sentence."""
    faults = {
        "it does not fit the scene": checked.fits_scene,
        "it is not clear what is meant": checked.is_clear,
        "it conflicts with another instruction": not checked.has_conflict,
    }
    named = " and ".join(fault for fault, fine in faults.items() if not fine)
    said = f" ({checked.reason[:200].rstrip('.')})" if checked.reason else ""
    return f"“{step.instruction}”: {named}{said}."


def _mentions(instruction: str, thing: str) -> bool:
    """Return whether an instruction contains the last word of an object's name."""
    word = re.findall(r"\w+", thing.casefold())[-1:]
    return bool(word) and re.search(rf"\b{re.escape(word[0])}", instruction.casefold()) is not None
