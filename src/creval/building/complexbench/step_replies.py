"""Formats and parsers of the replies from which ComplexBench-Edit's steps are built.

The parsers accept other common formats too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from creval.parsing.records import parse_records, parse_yes_no, single_value
from creval.parsing.reply_format import TEXT, YES_NO, ReplyFormat, list_schema, object_schema

_NOTHING = ("nothing", "none", "null", "n/a", "-")


class ChainStep(NamedTuple):
    """A step in a reply: its instruction, the object that it changes, and the object that it creates."""

    instruction: str
    old: str = ""
    new: str = ""


STEP_FORMAT = ReplyFormat(
    'Answer with JSON: {"instruction": "...", "old": "the object that is changed, as it is called '
    'in the list or above, or nothing", "new": "what is new in the picture, or nothing"}',
    object_schema(instruction=TEXT, old=TEXT, new=TEXT),
)


def read_step(text: str) -> ChainStep | None:
    """Return the step in a reply, or None if the reply has no step or more than one."""
    found = parse_records(text)
    instruction = single_value(found, "instruction")
    if not instruction:
        return None
    old, new = (single_value(found, slot) for slot in ("old", "new"))
    return ChainStep(instruction, *("" if said.casefold().strip(" .") in _NOTHING else said for said in (old, new)))


class StepCheck(NamedTuple):
    """Second model's opinion on one step.

    The step is sound if it fits the scene, refers to objects clearly, and does not conflict with another step.
    """

    number: int
    fits_scene: bool
    is_clear: bool
    has_conflict: bool
    reason: str = ""

    @property
    def is_sound(self) -> bool:
        return self.fits_scene and self.is_clear and not self.has_conflict


CHECK_FORMAT = ReplyFormat(
    "Answer with a JSON array, one entry for each instruction: "
    '[{"number": 1, "scene": "yes" or "no", "reference": "yes" or "no", "conflict": "yes" or "no", '
    '"reason": "what is wrong, if anything is"}, ...]',
    object_schema(
        checks=list_schema(number={"type": "integer"}, scene=YES_NO, reference=YES_NO, conflict=YES_NO, reason=TEXT)
    ),
)


def read_step_checks(text: str, steps: int) -> list[StepCheck] | None:
    """Return the checks of all steps in a reply, in their order, or None if one is missing."""
    found: dict[int, StepCheck] = {}
    for record in parse_records(text):
        digits = re.search(r"[0-9]{1,2}", record.get("number", str(len(found) + 1)))
        said = [parse_yes_no(record.get(slot, "")) for slot in ("scene", "reference", "conflict")]
        if digits is None or any(one is None for one in said):
            continue
        scene, reference, conflict = map(bool, said)
        number = int(digits[0])
        checked = StepCheck(number, scene, reference, conflict, record.get("reason", ""))
        if found.setdefault(number, checked)[:4] != checked[:4]:
            return None
    numbers = range(1, steps + 1)
    return [found[number] for number in numbers] if found.keys() == set(numbers) else None
