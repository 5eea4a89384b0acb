"""Files of built ICE-Bench items, in the release's layout. Each entry has its provenance (`made`)."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.ice_bench.item_lines import (
    ITEMS_FILE,
    find_unfilled,
    read_item_lines,
    reference_names,
    resolve_image_path,
)
from creval.benchmarks.ice_bench.tasks import TASK_GROUPS, TASKS, Task, find_task
from creval.building.ice.jobs import ExistingItem, ItemJob, task_slug
from creval.building.ice.texts import INSTRUCTION, TARGET_CAPTION, TEXT_FIELDS, ItemInputs, ItemTexts
from creval.core.errors import CrevalError
from creval.core.files import atomic_write, coerce_text, is_dropped, replace_lone_surrogates
from creval.parsing.text_checks import text_digest

DATASET_FOLDER = "dataset"
INSTRUCTION_DIGEST_KEY, TEXT_DIGEST_KEY = "of", "as"
"""Keys of two digests: of the instruction that a description belongs to, and of a text as it was built."""
PEOPLE = "people"
ItemEntry = dict[str, Any]


class ItemDraft(NamedTuple):
    """Inputs, texts and provenance of an item. A new item has a `job`; an existing one has its `previous_texts`."""

    item_id: str
    inputs: ItemInputs
    item_texts: ItemTexts
    provenance: Mapping[str, Any]
    job: ItemJob | None = None
    previous_texts: Mapping[str, str] = {}


def item_image_path(folder: Path, item: str, task: Task, kind: str, ending: str = ".png") -> Path:
    """Return the path of an item's image of a kind (src, mask, ref1, photo)."""
    return folder / DATASET_FOLDER / "images" / task_slug(task) / f"{item}_{kind}{ending}"


class IceItems:
    """Items of a benchmark by id. Missing texts are added, and outdated ones replaced, but never texts by people."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, self.items_file(folder)
        self.entries: dict[str, ItemEntry] = {}
        lines = read_item_lines(self.path) if self.path.is_file() else ()
        for number, entry, reason in lines:
            if reason:
                raise CrevalError(f"{self.path}, line {number}: {reason}.")
            name = coerce_text(entry.get("ItemID"))
            if not name or name in self.entries:
                raise CrevalError(f"{self.path}, line {number}: ItemID is missing or not unique.")
            self.entries[name] = entry
        self._original_order = list(self.entries)

    @staticmethod
    def items_file(folder: Path) -> Path:
        return folder / DATASET_FOLDER / ITEMS_FILE

    def find_built(self) -> dict[str, ExistingItem]:
        """Return the built items by id."""
        found = {}
        for name, entry in self.entries.items():
            task, made = find_task(coerce_text(entry.get("Task"))), get_provenance(entry)
            if task is not None and made:
                found[name] = ExistingItem(coerce_text(made.get("key")), task.name, coerce_text(made.get("base")))
        return found

    def waits_for_people(self, name: str, people: bool) -> bool:
        """Return whether an item is left to people, so that models must not add texts.

        This is so if it was dropped, or if its instruction is unfilled and either `people` is true (people fill in all
        instructions) or it has no template that a model could fill in.
        """
        entry = self.entries[name]
        return is_dropped(entry) or (needs_filling(entry) and (people or not get_template(entry)))

    def existing_texts(self, name: str) -> ItemTexts:
        """Return an item's texts for reuse, without those that have to be written again.

        The instruction is empty if its template is not filled in. The target caption is empty, too, in that case or if
        it is outdated, unless a person wrote it.
        """
        entry = self.entries[name]
        texts = get_texts(entry)
        if needs_filling(entry):
            texts[INSTRUCTION] = ""
        if (needs_filling(entry) or is_outdated(entry)) and not is_human_written(entry, TARGET_CAPTION):
            texts[TARGET_CAPTION] = ""
        return ItemTexts(texts)

    def complete(self, draft: ItemDraft) -> bool:
        """Add a draft's texts to its item. Texts that people have written meanwhile are kept.

        Return False if the item was dropped or removed, or has another instruction now.
        """
        entry, previous_texts = self.entries.get(draft.item_id), draft.previous_texts
        now = get_texts(entry) if entry is not None else {}
        if entry is None or is_dropped(entry) or now[INSTRUCTION] != previous_texts[INSTRUCTION]:
            return False
        for part in TEXT_FIELDS:
            if part in draft.item_texts.authors and now[part] == previous_texts[part]:
                entry[part] = replace_lone_surrogates(draft.item_texts.texts[part])
                get_provenance(entry)[part] = dict(draft.provenance[part])
                _record_text_digest(entry, part)
        return True

    def mark_human_texts(self) -> None:
        """Mark every text that people wrote or changed."""
        for entry in filter(get_provenance, self.entries.values()):
            for part in TEXT_FIELDS:
                if is_human_written(entry, part):
                    mark_human_written(entry, part)

    def add(self, draft: ItemDraft, job: ItemJob, image_names: Mapping[str, str]) -> bool:
        """Add an item with copied images; `save` writes it to disk. Return False if its id exists already."""
        name, task = draft.item_id, draft.inputs.task
        if name in self.entries:
            return False
        photograph = {"photograph": image_names["photo"]} if "photo" in image_names else {}
        self.entries[name] = {
            "ItemID": name,
            "TaskLevel1": task.category,
            "TaskLevel2": task.group,
            "Task": task.release_name,
            "SourceImageType": "",
            "RegionBased": "mask" in image_names,
            "SourceImage": image_names.get("src", ""),
            "SourceMask": image_names.get("mask", ""),
            "ReferenceImages": [place for kind, place in image_names.items() if kind.startswith("ref")],
            **{part: replace_lone_surrogates(draft.item_texts.texts[part]) for part in TEXT_FIELDS},
            "made": {"key": job.key, "base": job.id_stem, **photograph, **draft.provenance},
        }
        for part in TEXT_FIELDS:
            _record_text_digest(self.entries[name], part)
        return True

    @property
    def unfilled_count(self) -> int:
        """Number of items whose templates people have to fill in."""
        return sum(needs_filling(entry) and not is_dropped(entry) for entry in self.entries.values())

    def count_by_task(self) -> dict[str, dict[str, int]]:
        """Return the number of items of each task by group, without dropped items."""
        named = (find_task(coerce_text(entry.get("Task"))) for entry in self.entries.values() if not is_dropped(entry))
        often = Counter(task.name for task in named if task)
        return {
            group: {task.name: often[task.name] for task in TASKS.values() if task.group == group}
            for group in TASK_GROUPS
        }

    def save(self) -> None:
        """Write all items, one per line. Existing items keep their order; new items are merged in by their ids."""
        new = sorted(self.entries.keys() - set(self._original_order))
        names = heapq.merge(self._original_order, new)
        lines = (json.dumps(self.entries[name], ensure_ascii=False) for name in names)
        atomic_write(self.path, "".join(f"{replace_lone_surrogates(line)}\n" for line in lines))


def get_provenance(entry: ItemEntry) -> dict[str, Any]:
    """Return the provenance of an item, or {} if it was not built or the value is malformed."""
    made = entry.get("made")
    return made if isinstance(made, dict) else {}


def get_text_provenance(entry: ItemEntry, part: str) -> Mapping[str, Any]:
    """Return the provenance of a text of an item, with the verdict of its review."""
    found = get_provenance(entry).get(part)
    return found if isinstance(found, dict) else {}


def edit_text_provenance(entry: ItemEntry, part: str) -> dict[str, Any]:
    """Return the provenance of a text for editing. Creates it if it does not exist."""
    found = get_provenance(entry)[part] = dict(get_text_provenance(entry, part))
    return found


def find_item_images(entry: ItemEntry, folder: Path) -> dict[str, Path]:
    """Return an item's images by role, including the photograph if there is one.

    Paths outside the folder are left out.
    """
    given = {"source": entry.get("SourceImage"), "mask": entry.get("SourceMask")}
    given |= {f"reference {at}": name for at, name in enumerate(reference_names(entry), 1)}
    given["photograph"] = get_provenance(entry).get("photograph")
    home = (folder / DATASET_FOLDER).resolve()
    found = {what: resolve_image_path(home, name) for what, name in given.items()}
    return {what: path for what, path in found.items() if path is not None}


def get_texts(entry: ItemEntry) -> dict[str, str]:
    return {part: coerce_text(entry.get(part)).strip() for part in TEXT_FIELDS}


def needs_filling(entry: ItemEntry) -> bool:
    """Return whether an item has no instruction, or one with unfilled blanks."""
    return bool(find_unfilled(entry)) or not get_texts(entry)[INSTRUCTION]


def get_template(entry: ItemEntry) -> str:
    """Return the template of an item: its instruction if that still has blanks, otherwise the stored template."""
    begun = get_texts(entry)[INSTRUCTION] if find_unfilled(entry) else ""
    return begun or coerce_text(get_provenance(entry).get("template"))


def record_instruction_digest(entry: ItemEntry) -> None:
    """Store the digest of the current instruction with the target caption, which describes the edit it asks for."""
    edit_text_provenance(entry, TARGET_CAPTION)[INSTRUCTION_DIGEST_KEY] = text_digest(get_texts(entry)[INSTRUCTION])


def _record_text_digest(entry: ItemEntry, part: str) -> None:
    """Store the digest of a built text. With the target caption, store the instruction's digest, too."""
    if text := get_texts(entry)[part]:
        edit_text_provenance(entry, part)[TEXT_DIGEST_KEY] = text_digest(text)
        if part == TARGET_CAPTION:
            record_instruction_digest(entry)


def mark_human_written(entry: ItemEntry, part: str) -> None:
    """Mark a text as written by people."""
    made = edit_text_provenance(entry, part)
    for name in ("prompt", TEXT_DIGEST_KEY):
        made.pop(name, None)
    made["by"] = PEOPLE


def is_outdated(entry: ItemEntry) -> bool:
    """Return whether the instruction was changed after the target caption was written."""
    texts, digest = (get_texts(entry), get_text_provenance(entry, TARGET_CAPTION).get(INSTRUCTION_DIGEST_KEY))
    return bool(digest and texts[TARGET_CAPTION]) and digest != text_digest(texts[INSTRUCTION])


def is_human_written(entry: ItemEntry, part: str) -> bool:
    """Return whether people wrote a text, or changed it after it was built."""
    text, made = get_texts(entry)[part], get_text_provenance(entry, part)
    digest = text_digest(text)
    return bool(text) and (made.get("by", PEOPLE) == PEOPLE or made.get(TEXT_DIGEST_KEY, digest) != digest)
