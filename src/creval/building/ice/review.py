"""Built items of ICE-Bench, to be looked through: the instruction, which may be a template still to
be filled in, and the descriptions. What is dropped takes its item with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.benchmarks.ice_bench.items import reference_names, unfilled
from creval.benchmarks.ice_bench.tasks import task_named
from creval.building.ice.files import (
    Entry,
    Items,
    give_to_people,
    is_open,
    is_outdated,
    is_own,
    keep_asked,
    made_of,
    part_in,
    part_of,
    pictures_of,
    texts_of,
)
from creval.building.ice.task_kits import KITS
from creval.building.ice.templates import names_of
from creval.building.ice.texts import (
    INSTRUCTION,
    PARTS,
    SOURCE_CAPTION,
    TARGET_CAPTION,
    lost_names,
    own_fault,
)
from creval.building.review.entries import as_sent, mark, verdict_of
from creval.building.review.model import ACCEPTED, DROPPED, OPEN, Field, ReviewGroup, ReviewItem
from creval.core.errors import CrevalError, known_name, unknown
from creval.core.files import is_dropped, state_of, text_of
from creval.parsing.text_checks import quotes
from creval.store.lock import turn

_KINDS = {
    INSTRUCTION: "instruction",
    SOURCE_CAPTION: "what the source shows",
    TARGET_CAPTION: "what an ideal edit shows",
}


class IceReview:
    """The items, each a group of its texts."""

    title = "ICE-Bench: instructions and descriptions"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: tuple[object, Items] | None = None

    @property
    def _items(self) -> Items:
        """The items as the file holds them now: people may change it meanwhile."""
        state = state_of(Items.path_in(self._folder))
        if self._read is None or self._read[0] != state:
            self._read = state, Items(self._folder)
        return self._read[1]

    def groups(self) -> Sequence[str]:
        return _groups(self._items)

    def group(self, identity: str) -> ReviewGroup:
        entry = self._entry(identity)
        items = [_item(entry, part) for part in _parts(entry)]
        task = task_named(text_of(entry.get("Task")))
        name = Path(text_of(made_of(entry).get("picture"))).name
        heading = f"{task.name if task else text_of(entry.get('Task'))}: {name or identity}"
        return ReviewGroup(identity, heading, pictures_of(entry, self._folder), tuple(items))

    def decide(self, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        with turn(self._folder):
            items = Items(self._folder)
            _decide(_entry_in(items, group), item, verdict, fields)
            items.save()

    def left(self) -> int:
        return sum(
            _verdict(entry, part) == OPEN
            for entry in map(self._entry, self.groups())
            for part in _parts(entry)
        )

    def _entry(self, identity: str) -> Entry:
        return _entry_in(self._items, identity)


def _groups(items: Items) -> Sequence[str]:
    return [name for name, entry in items.entries.items() if made_of(entry)]


def _entry_in(items: Items, identity: str) -> Entry:
    entry = items.entries.get(identity)
    if entry is None or not made_of(entry):
        raise unknown("item", identity, _groups(items))
    return entry


def _decide(entry: Entry, item: str, verdict: str, fields: Mapping[str, str]) -> None:
    """Write into an item what was decided about one of its texts."""
    known_name("text", item, _parts(entry))
    there = text_of(entry.get(item))
    said = as_sent(fields.get("text", there), there)
    if said != there:
        _change(entry, item, said)
    if verdict == ACCEPTED:
        _check(entry, item)
    entry.pop("dropped", None)
    for part in _parts(entry):  # a text brings its whole item back
        if verdict != DROPPED:
            part_in(entry, part).pop("dropped", None)
    mark(part_in(entry, item), verdict)
    if verdict == DROPPED:
        entry["dropped"] = True
    if item == TARGET_CAPTION and verdict == ACCEPTED:
        keep_asked(entry)


def _parts(entry: Entry) -> Sequence[str]:
    """The texts that there are to be decided about: the instruction, also while it is open, and
    descriptions once they are written."""
    told = texts_of(entry)
    return [part for part in PARTS if part == INSTRUCTION or told[part]]


def _verdict(entry: Entry, part: str) -> str:
    if is_dropped(entry):
        return DROPPED
    if part == TARGET_CAPTION and is_outdated(entry):
        return OPEN
    return verdict_of(part_of(entry, part))


def _item(entry: Entry, part: str) -> ReviewItem:
    made, text = part_of(entry, part), text_of(entry.get(part))
    facts = {name: text_of(made[name]) for name in ("by", "prompt") if made.get(name)}
    if part == INSTRUCTION:
        facts |= _facts(entry)
    verdict, notes = _verdict(entry, part), _notes(entry, part)
    return ReviewItem(part, _KINDS[part], (Field("text", text),), verdict, notes, facts)


def _notes(entry: Entry, part: str) -> tuple[str, ...]:
    """Reasons to look twice."""
    if is_dropped(entry):
        return ()
    text, template = text_of(entry.get(part)), text_of(made_of(entry).get("template"))
    if part == INSTRUCTION:
        found = [f"to be filled in: {blank}" for blank in unfilled(entry)]
        if found:  # who fills in must know what for
            found = [f"the task: {_meaning(entry)}", *found]
        found += [f"it does not name {name}" for name in lost_names(text, template)]
        if not text.strip() and not template:
            found.append("it is still to be written")
        if quotes(template) and not quotes(text):
            found.append("the words to be written stand in no quotation marks")
        if not is_open(entry) and TARGET_CAPTION not in _parts(entry):
            left = f"{_KINDS[TARGET_CAPTION]} is still to be written"
            found.append(f"{left}: creval build ice does so")
        return tuple(found)
    if part == TARGET_CAPTION and is_outdated(entry):
        now = "accept or change it" if is_own(entry, part) else "accept, change or build again"
        return (f"the instruction was changed afterwards: {now}",)
    return ()


def _check(entry: Entry, part: str) -> None:
    """Refuse to accept what is not there yet."""
    if part == INSTRUCTION and (open_ := unfilled(entry)):
        raise CrevalError(f"{{{open_[0]}}} is not filled in yet.")
    if not text_of(entry.get(part)).strip():
        raise CrevalError("there is nothing to accept yet: it is still to be written.")


def _change(entry: Entry, part: str, said: str) -> None:
    """Give a text other words, if they can stand."""
    task, references = task_named(text_of(entry.get("Task"))), reference_names(entry)
    names = names_of(task, len(references)) if task and part == INSTRUCTION else ()
    if not said:
        raise CrevalError("it cannot be empty; drop it instead.")
    if reason := own_fault(said, names):
        raise CrevalError(f"this cannot stand ({reason}).")
    entry[part] = said
    give_to_people(entry, part)
    if part == TARGET_CAPTION:
        keep_asked(entry)


def _meaning(entry: Entry) -> str:
    """What an item's task is about."""
    name = text_of(entry.get("Task"))
    task = task_named(name)
    return name if task is None else KITS[task.name].meaning


def _facts(entry: Entry) -> dict[str, str]:
    """What an instruction is to be like, and how it came about."""
    made = made_of(entry)
    found = {"task": _meaning(entry)}
    if made.get("template"):
        found["template"] = text_of(made["template"])
    rejected = made.get("rejected")
    if isinstance(rejected, list) and rejected:
        found["rejected before"] = "\n".join(map(text_of, rejected))
    return found
