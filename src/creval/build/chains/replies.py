"""What models write back, read from whatever form they give it: JSON, labelled lines, lists.

Each kind of reply has the words that ask for it and the function that reads it, side by side.
Nothing is read that is not there, and where two things are there, neither is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from creval.build.chains.operations import operation_named
from creval.core.files import clean_text

_MOST_BROKEN = 200  # brackets that begin nothing, after which a reply is noise
_DEEPEST = 8
_DECODER = json.JSONDecoder(strict=False)
_OPEN = re.compile(r"[{\[]")
_LONGEST = 4000  # letters of a line that is read
# A label and what follows it on its line: `**Instruction:** ...`, `2. "old"：“cat”，`.
_LABELLED = re.compile(
    r"[\s>*#_\"'“”{-]{0,12}(?:[0-9]{1,2}[.)、:：]\s{0,4})?[\s*_\"'“”]{0,8}"
    r"([A-Za-z][A-Za-z ]{0,29}?)[\s*_\"'“”]{0,8}[:：](.*)"
)
_QUOTED = re.compile(
    r"[\"“']([A-Za-z][A-Za-z_ ]{0,29})[\"”']\s{0,4}[:：]\s{0,4}[\"“]([^\"“”\n]*)[\"”]"
)
_NUMBERED = re.compile(r"[\s>*#_-]{0,12}([0-9]{1,2})\s{0,4}[.)、:：]\s{0,4}(\S.*)")
_NAMED = re.compile(
    r"[\s*_\"“]{0,8}([^:：\]\)】\"”—–*-]{3,40}?)[\s*_\"”]{0,8}[:：—–-][\s*_]{0,8}([^\s*_].*)"
)
_BRACKETED = re.compile(
    r"[\s*_]{0,8}[\[(【]([^\])】]{3,40})[\])】][\s*_:：—–-]{0,8}([^\s*_:：—–-].*)"
)
_BECAUSE = re.compile(r"[(（](?:because|reason|rationale)[:：]?\s(.*)[)）][\s*_.]*", re.IGNORECASE)
_ENDED = re.compile(r"[.!?。！？][\"'”’*_)]{0,3}\s*")
_LETTERS = re.compile(r"[\W_]+")
_WRAP = " \t\r\n*_`,，;"
_PAIRS = ('""', "“”", "''", "‘’")

Record = dict[str, str]
_SLOTS: Mapping[str, Sequence[str]] = {
    "operation": ("operation", "name", "type", "operationname", "operationtype"),
    "instruction": (
        "instruction", "text", "edit", "simplified", "shorter", "compound", "finalinstruction",
        "compoundinstruction", "simplifiedinstruction", "shorterinstruction", "editinstruction",
    ),
    "reason": ("reason", "reasoning", "rationale", "why", "explanation", "thinking"),
    "needed": ("needed", "isneeded", "simplificationneeded", "neededornot"),
    "old": ("old", "oldobject", "oriobj", "object"),
    "new": ("new", "newobject", "newobj"),
    "scene": ("scene",),
    "reference": ("reference",),
    "conflict": ("conflict", "conflicts"),
    "number": ("number", "step", "id"),
}  # fmt: skip
_SLOT_OF = {name: slot for slot, names in _SLOTS.items() for name in names}


def _slot(label: str) -> str | None:
    return _SLOT_OF.get(_LETTERS.sub("", label.casefold()))


def tidy(text: str) -> str:
    """A piece of a reply in one line, without the marks that were put around it.

    >>> tidy('**"Add  a cat."**,')
    'Add a cat.'
    """
    text = " ".join(clean_text(text).split())
    while True:
        shorter = text.strip(_WRAP)
        if len(shorter) > 1 and shorter[0] + shorter[-1] in _PAIRS:
            inside = shorter[1:-1]
            if not any(mark in inside for mark in shorter[0] + shorter[-1]):
                shorter = inside
        if shorter == text:
            return text
        text = shorter


def records(text: str) -> list[Record]:
    """Every record in a reply, as its known fields; from JSON, or else from labelled lines."""
    found: list[Record] = []
    for value in _values(text):
        _collect(value, "", 0, found)
    return found or _quoted(text) or _lines(text)


def _values(text: str) -> Iterator[Any]:
    at = broken = 0
    while broken < _MOST_BROKEN and (match := _OPEN.search(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            broken += 1
            at = match.end()
        else:
            yield value


def _collect(value: Any, number: str, depth: int, into: list[Record]) -> None:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for inner in value:
            _collect(inner, "", depth + 1, into)
    elif isinstance(value, dict):
        found: Record = {"number": number} if number else {}
        for key, inner in value.items():
            slot = _slot(str(key))
            if slot and isinstance(inner, str | bool | int):
                said = {True: "yes", False: "no"}[inner] if isinstance(inner, bool) else str(inner)
                found.setdefault(slot, tidy(said))
            elif isinstance(inner, dict | list):
                digits = re.fullmatch(r"\D{0,15}([0-9]{1,2})", str(key))
                _collect(inner, digits[1] if digits else "", depth + 1, into)
        if found.keys() - {"number"}:
            into.append(found)


def _gathered(pairs: Iterator[tuple[str, str]]) -> list[Record]:
    """Fields in their order as records: one that comes again begins the next."""
    found: list[Record] = []
    for slot, value in pairs:
        if not found or slot in found[-1]:
            found.append({})
        found[-1][slot] = tidy(value)
    return found


def _quoted(text: str) -> list[Record]:
    """Quoted keys and values, as in JSON that is broken or has Chinese marks."""
    pairs = ((_slot(match[1]), match[2]) for match in _QUOTED.finditer(text))
    return _gathered((slot, value) for slot, value in pairs if slot)


def _lines(text: str) -> list[Record]:
    def pairs() -> Iterator[tuple[str, str]]:
        open_slot, parts = "", list[str]()
        for line in text.splitlines():
            match = _LABELLED.fullmatch(line[:_LONGEST])
            slot = _slot(match[1]) if match else None
            if match and slot:
                if open_slot:
                    yield open_slot, " ".join(parts)
                open_slot, parts = slot, [match[2]]
            elif not line.strip():
                if open_slot and any(map(tidy, parts)):
                    yield open_slot, " ".join(parts)
                    open_slot = ""
            elif open_slot and not _ENDED.search(parts[-1][-8:]):
                parts.append(line[:_LONGEST])
        if open_slot:
            yield open_slot, " ".join(parts)

    return [found for found in _gathered(pairs()) if any(found.values())]


def _only(found: Sequence[Record], slot: str) -> str:
    """The one value of a field in all records; nothing where there are several."""
    values = {record[slot] for record in found if record.get(slot)}
    return values.pop() if len(values) == 1 else ""


def yes_or_no(said: str) -> bool | None:
    """Whether words begin by affirming or denying."""
    match = re.match(r"\W*(yes|true|ok|no|not|false|none)\b", said, re.IGNORECASE)
    return match[1].casefold() in ("yes", "true", "ok") if match else None


class Atomic(NamedTuple):
    """One atomic instruction as written: its operation, its words, and why it was chosen."""

    operation: str
    instruction: str
    reason: str = ""


SEQUENCE_FORMAT = (
    "Think first, in a few sentences. Then give the sequence as a JSON array, in its order: "
    '[{"operation": "a name from the list", "instruction": "...", "reason": "..."}, ...]'
)


def read_sequence(text: str) -> list[Atomic]:
    """The atomic instructions in a reply, those with a known operation, in their order."""
    found = [
        Atomic(name, record["instruction"], record.get("reason", ""))
        for record in records(text)
        if record.get("instruction") and (name := operation_named(record.get("operation", "")))
    ]
    return found or _listed(text)


def _listed(text: str) -> list[Atomic]:
    """A numbered list: `3. **Change Color**: Make the door red. (Because ...)`."""
    found: list[tuple[int, Atomic]] = []
    for line in text.splitlines():
        match = _NUMBERED.fullmatch(line[:_LONGEST])
        named = match and (_BRACKETED.fullmatch(match[2]) or _NAMED.fullmatch(match[2]))
        name = operation_named(named[1]) if named else None
        if match and named and name:
            words, reason = _parted(named[2])
            if tidy(words):
                found.append((int(match[1]), Atomic(name, tidy(words), tidy(reason))))
    # A list that starts anew is a second draft; which one is meant cannot be told.
    numbers = [number for number, _ in found]
    return [atomic for _, atomic in found] if len(set(numbers)) == len(numbers) else []


def _parted(said: str) -> tuple[str, str]:
    """An instruction, and the reason in brackets behind it."""
    at = max(said.rfind("("), said.rfind("（"))
    match = _BECAUSE.fullmatch(said, at) if at > 0 else None
    return (said[:at], match[1]) if match else (said, "")


class Simplified(NamedTuple):
    """Whether an instruction was to be shorter, and if so the shorter one."""

    needed: bool
    instruction: str = ""


SIMPLIFY_FORMAT = (
    'Answer with JSON: {"needed": "yes" or "no", "instruction": "the shorter instruction, or '
    'nothing where none is needed"}'
)


def read_simplified(text: str) -> Simplified | None:
    """What a reply says about an instruction; nothing where it says neither, or both."""
    found = records(text)
    said = {yes_or_no(record["needed"]) for record in found if record.get("needed")}
    instruction = _only(found, "instruction")
    if said == {False}:
        return Simplified(False)
    if said == {True} and instruction:
        return Simplified(True, instruction)
    if not found and re.fullmatch(r"\W*no\b[^\n]{0,60}", text.strip(), re.IGNORECASE):
        return Simplified(False)
    return None


class Compound(NamedTuple):
    """Several atomic instructions as one, and how it came about."""

    instruction: str
    reason: str = ""


COMPOUND_FORMAT = (
    'Answer with JSON, the thinking first: {"reasoning": "...", "instruction": "the one '
    'instruction"}'
)


def read_compound(text: str) -> Compound | None:
    """The one instruction in a reply; nothing where there is none, or more than one."""
    found = records(text)
    instruction = _only(found, "instruction")
    return Compound(instruction, _only(found, "reason")) if instruction else None


class Written(NamedTuple):
    """A step as written: its words, the object that it changes, and what it makes."""

    instruction: str
    old: str = ""
    new: str = ""


STEP_FORMAT = (
    'Answer with JSON: {"instruction": "...", "old": "the object that is changed, as it is called '
    'in the list or above, or nothing", "new": "what is new in the picture, or nothing"}'
)


def read_step(text: str) -> Written | None:
    """The one step in a reply."""
    found = records(text)
    instruction = _only(found, "instruction")
    if not instruction:
        return None
    return Written(instruction, *(_nothing(_only(found, slot)) for slot in ("old", "new")))


def _nothing(said: str) -> str:
    return "" if said.casefold().strip(" .") in ("nothing", "none", "null", "n/a", "-") else said


class Checked(NamedTuple):
    """What a second model says of one step: it is sound if it fits the scene, refers to something
    clearly, and contradicts no other."""

    number: int
    scene: bool
    reference: bool
    conflict: bool
    reason: str = ""

    @property
    def sound(self) -> bool:
        return self.scene and self.reference and not self.conflict


CHECK_FORMAT = (
    "Answer with a JSON array, one entry for each instruction: "
    '[{"number": 1, "scene": "yes" or "no", "reference": "yes" or "no", "conflict": "yes" or "no", '
    '"reason": "what is wrong, if anything is"}, ...]'
)


def read_checked(text: str, steps: int) -> list[Checked] | None:
    """What a reply says of all steps, in their order; nothing where one is left open."""
    found: dict[int, Checked] = {}
    for record in records(text):
        digits = re.search(r"[0-9]{1,2}", record.get("number", str(len(found) + 1)))
        said = [yes_or_no(record.get(slot, "")) for slot in ("scene", "reference", "conflict")]
        if digits is None or any(one is None for one in said):
            continue
        scene, reference, conflict = map(bool, said)
        number = int(digits[0])
        checked = Checked(number, scene, reference, conflict, record.get("reason", ""))
        if found.setdefault(number, checked)[:4] != checked[:4]:
            return None
    numbers = range(1, steps + 1)
    return [found[number] for number in numbers] if found.keys() == set(numbers) else None
