"""What models write back where chains are built, read from whatever form they give it.

Each kind of reply has the words that ask for it and the function that reads it, side by side. Where
two things are there, neither is read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from creval.building.complex_edit.atomic_operations import match_operation
from creval.parsing.records import MAX_LINE_CHARS, parse_records, parse_yes_no, single_value, strip_markup

_NUMBERED = re.compile(r"[\s>*#_-]{0,12}([0-9]{1,2})\s{0,4}[.)、:：]\s{0,4}(\S.*)")
_NAMED = re.compile(r"[\s*_\"“]{0,8}([^:：\]\)】\"”—–*-]{3,40}?)[\s*_\"”]{0,8}[:：—–-][\s*_]{0,8}([^\s*_].*)")
_BRACKETED = re.compile(r"[\s*_]{0,8}[\[(【]([^\])】]{3,40})[\])】][\s*_:：—–-]{0,8}([^\s*_:：—–-].*)")
_BECAUSE = re.compile(r"[(（](?:because|reason|rationale)[:：]?\s(.*)[)）][\s*_.]*", re.IGNORECASE)


class AtomicInstruction(NamedTuple):
    """One atomic instruction as written: its operation, its words, and why it was chosen."""

    operation: str
    instruction: str
    reason: str = ""


SEQUENCE_FORMAT = (
    "Think first, in a few sentences. Then give the sequence as a JSON array, in its order: "
    '[{"operation": "a name from the list", "instruction": "...", "reason": "..."}, ...]'
)


def read_sequence(text: str) -> list[AtomicInstruction]:
    """The atomic instructions in a reply, those with a known operation, in their order."""
    found = [
        AtomicInstruction(name, record["instruction"], record.get("reason", ""))
        for record in parse_records(text)
        if record.get("instruction") and (name := match_operation(record.get("operation", "")))
    ]
    return found or _read_numbered_list(text)


def _read_numbered_list(text: str) -> list[AtomicInstruction]:
    """A numbered list: `3. **Change Color**: Make the door red. (Because ...)`."""
    found: list[tuple[int, AtomicInstruction]] = []
    for line in text.splitlines():
        match = _NUMBERED.fullmatch(line[:MAX_LINE_CHARS])
        named = match and (_BRACKETED.fullmatch(match[2]) or _NAMED.fullmatch(match[2]))
        name = match_operation(named[1]) if named else None
        if match and named and name:
            words, reason = _split_reason(named[2])
            if strip_markup(words):
                found.append((int(match[1]), AtomicInstruction(name, strip_markup(words), strip_markup(reason))))
    # A list that starts anew is a second draft; which one is meant cannot be told.
    numbers = [number for number, _ in found]
    return [atomic for _, atomic in found] if len(set(numbers)) == len(numbers) else []


def _split_reason(text: str) -> tuple[str, str]:
    """An instruction, and the reason in brackets behind it."""
    at = max(text.rfind("("), text.rfind("（"))
    match = _BECAUSE.fullmatch(text, at) if at > 0 else None
    return (text[:at], match[1]) if match else (text, "")


class SimplifyReply(NamedTuple):
    """Whether an instruction was to be shorter, and if so the shorter one."""

    is_needed: bool
    instruction: str = ""


SIMPLIFY_FORMAT = (
    'Answer with JSON: {"needed": "yes" or "no", "instruction": "the shorter instruction, or '
    'nothing where none is needed"}'
)


def read_simplified(text: str) -> SimplifyReply | None:
    """What a reply says about an instruction; nothing where it says neither, or both."""
    found = parse_records(text)
    said = {parse_yes_no(record["needed"]) for record in found if record.get("needed")}
    instruction = single_value(found, "instruction")
    if said == {False}:
        return SimplifyReply(False)
    if said == {True} and instruction:
        return SimplifyReply(True, instruction)
    if not found and re.fullmatch(r"\W*no\b[^\n]{0,60}", text.strip(), re.IGNORECASE):
        return SimplifyReply(False)
    return None


class CompoundInstruction(NamedTuple):
    """Several atomic instructions as one, and how it came about."""

    instruction: str
    reason: str = ""


COMPOUND_FORMAT = 'Answer with JSON, the thinking first: {"reasoning": "...", "instruction": "the one instruction"}'


def read_compound(text: str) -> CompoundInstruction | None:
    """The one instruction in a reply; nothing where there is none, or more than one."""
    found = parse_records(text)
    instruction = single_value(found, "instruction")
    return CompoundInstruction(instruction, single_value(found, "reason")) if instruction else None


class ChainStep(NamedTuple):
    """A step as written: its words, the object that it changes, and what it makes."""

    instruction: str
    old: str = ""
    new: str = ""


STEP_FORMAT = (
    'Answer with JSON: {"instruction": "...", "old": "the object that is changed, as it is called '
    'in the list or above, or nothing", "new": "what is new in the picture, or nothing"}'
)


def read_step(text: str) -> ChainStep | None:
    """The one step in a reply."""
    found = parse_records(text)
    instruction = single_value(found, "instruction")
    if not instruction:
        return None
    return ChainStep(instruction, *(_drop_placeholder(single_value(found, slot)) for slot in ("old", "new")))


def _drop_placeholder(said: str) -> str:
    return "" if said.casefold().strip(" .") in ("nothing", "none", "null", "n/a", "-") else said


class StepCheck(NamedTuple):
    """What a second model says of one step: it is sound if it fits the scene, refers to something
    clearly, and contradicts no other."""

    number: int
    fits_scene: bool
    is_clear: bool
    has_conflict: bool
    reason: str = ""

    @property
    def is_sound(self) -> bool:
        return self.fits_scene and self.is_clear and not self.has_conflict


CHECK_FORMAT = (
    "Answer with a JSON array, one entry for each instruction: "
    '[{"number": 1, "scene": "yes" or "no", "reference": "yes" or "no", "conflict": "yes" or "no", '
    '"reason": "what is wrong, if anything is"}, ...]'
)


def read_step_checks(text: str, steps: int) -> list[StepCheck] | None:
    """What a reply says of all steps, in their order; nothing where one is left open."""
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
