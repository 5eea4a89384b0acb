"""Built items of ICE-Bench in the release's own layout, each with how it came about (`made`)."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from creval.benchmarks.ice_bench.items import (
    FILE,
    lines_of,
    picture_named,
    reference_names,
    unfilled,
)
from creval.benchmarks.ice_bench.tasks import GROUPS, TASKS, Task, task_named
from creval.building.ice.jobs import Job, There, slug
from creval.building.ice.texts import INSTRUCTION, PARTS, TARGET_CAPTION, Written
from creval.core.errors import CrevalError
from creval.core.files import clean_text, is_dropped, text_of, write_whole
from creval.parsing.text_checks import digest

HOME = "dataset"
OF, AS = "of", "as"
"""Digests of the instruction for which an edit was described, and of a text as it was built."""
PEOPLE = "people"
Entry = dict[str, Any]


def picture_path(folder: Path, item: str, task: Task, kind: str, ending: str = ".png") -> Path:
    """Where an item's picture of a kind (src, mask, ref1) lies."""
    return folder / HOME / "images" / slug(task) / f"{item}_{kind}{ending}"


class Items:
    """The items in a benchmark's folder by their ids. One that is there stays as it is, whoever
    changed it, but for what it lacks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, Entry] = {}
        lines = lines_of(self.path) if self.path.is_file() else ()
        for number, entry, reason in lines:
            if reason:
                raise CrevalError(f"{self.path}, line {number}: {reason}.")
            name = text_of(entry.get("ItemID"))
            if not name or name in self.entries:
                raise CrevalError(f"{self.path}, line {number}: it has no ItemID, or one twice.")
            self.entries[name] = entry
        self._read = list(self.entries)

    @staticmethod
    def path_in(folder: Path) -> Path:
        return folder / HOME / FILE

    @property
    def path(self) -> Path:
        return self.path_in(self.folder)

    def there(self) -> dict[str, There]:
        """What each item that was built is made of, by its id."""
        found = {}
        for name, entry in self.entries.items():
            task, made = task_named(text_of(entry.get("Task"))), made_of(entry)
            if task is not None and made:
                found[name] = There(text_of(made.get("key")), task.name, text_of(made.get("base")))
        return found

    def waits(self, name: str, people: bool) -> bool:
        """Whether an item is none of a model's business now: people dropped it, or are to say what
        is to be done. An instruction that has no template is their own."""
        entry = self.entries[name]
        return is_dropped(entry) or (is_open(entry) and (people or not template_of(entry)))

    def told(self, name: str) -> Written:
        """What an item has already. What is still open, or was written for other words, is not;
        people's own descriptions stay."""
        entry = self.entries[name]
        texts = texts_of(entry)
        if is_open(entry):
            texts[INSTRUCTION] = ""
        if (is_open(entry) or is_outdated(entry)) and not is_own(entry, TARGET_CAPTION):
            texts[TARGET_CAPTION] = ""
        return Written(texts)

    def complete(
        self,
        name: str,
        before: Mapping[str, str],
        written: Written,
        made: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Give an item the texts that it lacked; `before` are those that it had then. Not where
        people have given it another instruction since, nor in the place of what they wrote."""
        entry = self.entries.get(name)
        now = texts_of(entry) if entry is not None else {}
        if entry is None or is_dropped(entry) or now[INSTRUCTION] != before[INSTRUCTION]:
            return False
        for part in PARTS:
            if part in written.by and now[part] == before[part]:
                entry[part] = clean_text(written.texts[part])
                made_of(entry)[part] = dict(made[part])
                _keep_digest(entry, part)
        return True

    def give_people_theirs(self) -> None:
        """Say of every text that people wrote by hand that it is theirs."""
        for entry in filter(made_of, self.entries.values()):
            for part in PARTS:
                if is_own(entry, part):
                    give_to_people(entry, part)

    def add(self, job: Job, task: Task, places: Mapping[str, str], written: Written,
            made: Mapping[str, Any]) -> bool:  # fmt: skip
        """An item whose pictures are there; `save` writes the items. Not where somebody has put one
        of its name there meanwhile."""
        name = job.item(task)
        if name in self.entries:
            return False
        photograph = {"photograph": places["photo"]} if "photo" in places else {}
        self.entries[name] = {
            "ItemID": name,
            "TaskLevel1": task.category,
            "TaskLevel2": task.group,
            "Task": task.released,
            "SourceImageType": "",
            "RegionBased": "mask" in places,
            "SourceImage": places.get("src", ""),
            "SourceMask": places.get("mask", ""),
            "ReferenceImages": [place for kind, place in places.items() if kind.startswith("ref")],
            **{part: clean_text(written.texts[part]) for part in PARTS},
            "made": {"key": job.key, "base": job.base, **photograph, **made},
        }
        for part in PARTS:
            _keep_digest(self.entries[name], part)
        return True

    @property
    def unfilled(self) -> int:
        """How many items wait for people to fill in their templates."""
        return sum(is_open(entry) and not is_dropped(entry) for entry in self.entries.values())

    def counted(self) -> dict[str, dict[str, int]]:
        """How many items each task has that nobody dropped, by group."""
        named = (
            task_named(text_of(entry.get("Task")))
            for entry in self.entries.values()
            if not is_dropped(entry)
        )
        often = Counter(task.name for task in named if task)
        return {
            group: {task.name: often[task.name] for task in TASKS.values() if task.group == group}
            for group in GROUPS
        }

    def save(self) -> None:
        """Write all items, a line each: those that were there in their order, new ones among them
        by their names."""
        new = sorted(self.entries.keys() - set(self._read))
        names = heapq.merge(self._read, new)
        lines = (json.dumps(self.entries[name], ensure_ascii=False) for name in names)
        write_whole(self.path, "".join(f"{clean_text(line)}\n" for line in lines))


def made_of(entry: Entry) -> dict[str, Any]:
    """How an item came about; empty where it was not built, or somebody wrote something else."""
    made = entry.get("made")
    return made if isinstance(made, dict) else {}


def part_of(entry: Entry, part: str) -> Mapping[str, Any]:
    """How a text of an item came about, and what was decided about it."""
    found = made_of(entry).get(part)
    return found if isinstance(found, dict) else {}


def part_in(entry: Entry, part: str) -> dict[str, Any]:
    """The same, to be written into."""
    found = made_of(entry)[part] = dict(part_of(entry, part))
    return found


def pictures_of(entry: Entry, folder: Path) -> dict[str, Path]:
    """An item's pictures by what they are, also the photograph that it was made of, if there is
    one; none that lies outside."""
    given = {"source": entry.get("SourceImage"), "mask": entry.get("SourceMask")}
    given |= {f"reference {at}": name for at, name in enumerate(reference_names(entry), 1)}
    given["photograph"] = made_of(entry).get("photograph")
    home = (folder / HOME).resolve()
    found = {what: picture_named(home, name) for what, name in given.items()}
    return {what: path for what, path in found.items() if path is not None}


def texts_of(entry: Entry) -> dict[str, str]:
    return {part: text_of(entry.get(part)).strip() for part in PARTS}


def is_open(entry: Entry) -> bool:
    """Whether an item has no instruction yet, or one that is still to be filled in."""
    return bool(unfilled(entry)) or not texts_of(entry)[INSTRUCTION]


def template_of(entry: Entry) -> str:
    """What is to be filled in of an item: what people have begun to, else its template."""
    begun = texts_of(entry)[INSTRUCTION] if unfilled(entry) else ""
    return begun or text_of(made_of(entry).get("template"))


def keep_asked(entry: Entry) -> None:
    """Note for which instruction a description of an edit stands."""
    part_in(entry, TARGET_CAPTION)[OF] = digest(texts_of(entry)[INSTRUCTION])


def _keep_digest(entry: Entry, part: str) -> None:
    """Note how a text was built and, of an edit's description, for which instruction."""
    if said := texts_of(entry)[part]:
        part_in(entry, part)[AS] = digest(said)
        if part == TARGET_CAPTION:
            keep_asked(entry)


def give_to_people(entry: Entry, part: str) -> None:
    """Note that people wrote a text."""
    made = part_in(entry, part)
    for name in ("prompt", AS):
        made.pop(name, None)
    made["by"] = PEOPLE


def is_outdated(entry: Entry) -> bool:
    """Whether the instruction was given other words after the edit had been described."""
    texts, said = texts_of(entry), part_of(entry, TARGET_CAPTION).get(OF)
    return bool(said and texts[TARGET_CAPTION]) and said != digest(texts[INSTRUCTION])


def is_own(entry: Entry, part: str) -> bool:
    """Whether a text is people's own, or they gave it other words than it was built with."""
    text, made = texts_of(entry)[part], part_of(entry, part)
    now = digest(text)
    return bool(text) and (made.get("by", PEOPLE) == PEOPLE or made.get(AS, now) != now)
