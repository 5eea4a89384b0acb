"""Review of built ICE-Bench items: instructions, including templates to fill in, and descriptions.

Dropping a text drops its item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from creval.benchmarks.ice_bench.item_lines import find_unfilled, reference_names
from creval.benchmarks.ice_bench.tasks import find_task
from creval.building.ice.files import (
    IceItems,
    ItemEntry,
    edit_text_provenance,
    find_item_images,
    get_provenance,
    get_text_provenance,
    get_texts,
    is_human_written,
    is_outdated,
    mark_human_written,
    needs_filling,
    record_instruction_digest,
)
from creval.building.ice.task_kits import TASK_KITS
from creval.building.ice.templates import allowed_image_tags
from creval.building.ice.texts import (
    INSTRUCTION,
    SOURCE_CAPTION,
    TARGET_CAPTION,
    TEXT_FIELDS,
    find_missing_image_tags,
    invalid_text_reason,
)
from creval.building.review.base import ACCEPTED, DROPPED, OPEN, ReviewField, ReviewGroup, ReviewItem
from creval.building.review.json_review import JsonReview, merge_user_text, read_verdict, set_verdict
from creval.core.errors import CrevalError, require_known, unknown_name_error
from creval.core.files import coerce_text, is_dropped
from creval.parsing.text_checks import find_quotes

_KINDS = {
    INSTRUCTION: "instruction",
    SOURCE_CAPTION: "description of the source",
    TARGET_CAPTION: "description of an ideal edit",
}


class IceReview(JsonReview[IceItems]):
    """Review of ICE-Bench items.

    Each of them is a group of the review, and each of its texts is an item to decide about.
    """

    title = "ICE-Bench: instructions and descriptions"

    def files(self) -> list[Path]:
        return [IceItems.items_file(self.folder)]

    def load(self) -> IceItems:
        return IceItems(self.folder)

    def list_groups(self, entries: IceItems) -> Sequence[str]:
        return [name for name, entry in entries.entries.items() if get_provenance(entry)]

    def build_group(self, entries: IceItems, identity: str) -> ReviewGroup:
        entry = self._find_entry(entries, identity)
        items = [_build_item(entry, part) for part in _list_texts(entry)]
        task = find_task(coerce_text(entry.get("Task")))
        name = Path(coerce_text(get_provenance(entry).get("picture"))).name
        heading = f"{task.name if task else coerce_text(entry.get('Task'))}: {name or identity}"
        return ReviewGroup(identity, heading, find_item_images(entry, self.folder), tuple(items))

    def apply(self, entries: IceItems, group: str, item: str, verdict: str, fields: Mapping[str, str]) -> None:
        entry = self._find_entry(entries, group)
        require_known("text", item, _list_texts(entry))
        current = coerce_text(entry.get(item))
        text = merge_user_text(fields.get("text", current), current)
        if text != current:
            _change_text(entry, item, text)
        if verdict == ACCEPTED:
            _require_complete(entry, item)
        entry.pop("dropped", None)
        for part in _list_texts(entry):  # restoring a text restores its item
            if verdict != DROPPED:
                edit_text_provenance(entry, part).pop("dropped", None)
        set_verdict(edit_text_provenance(entry, item), verdict)
        if verdict == DROPPED:
            entry["dropped"] = True
        if item == TARGET_CAPTION and verdict == ACCEPTED:
            record_instruction_digest(entry)
        entries.save()

    def _find_entry(self, items: IceItems, identity: str) -> ItemEntry:
        entry = items.entries.get(identity)
        if entry is None or not get_provenance(entry):
            raise unknown_name_error("item", identity, self.list_groups(items))
        return entry


def _list_texts(entry: ItemEntry) -> Sequence[str]:
    """Return the texts that need a verdict: the instruction, and the descriptions if they exist."""
    texts = get_texts(entry)
    return [part for part in TEXT_FIELDS if part == INSTRUCTION or texts[part]]


def _build_item(entry: ItemEntry, part: str) -> ReviewItem:
    made, text = get_text_provenance(entry, part), coerce_text(entry.get(part))
    facts = {name: coerce_text(made[name]) for name in ("by", "prompt") if made.get(name)}
    if part == INSTRUCTION:
        whole = get_provenance(entry)
        facts["task"] = _task_meaning(entry)
        if whole.get("template"):
            facts["template"] = coerce_text(whole["template"])
        if isinstance(rejected := whole.get("rejected"), list) and rejected:
            facts["rejected replies"] = "\n".join(map(coerce_text, rejected))
    verdict = OPEN if part == TARGET_CAPTION and is_outdated(entry) else read_verdict(made)
    if is_dropped(entry):
        verdict = DROPPED
    return ReviewItem(part, _KINDS[part], (ReviewField("text", text),), verdict, _notes(entry, part), facts)


def _notes(entry: ItemEntry, part: str) -> tuple[str, ...]:
    """Return the reasons why a person should look closely at a text."""
    if is_dropped(entry):
        return ()
    text, template = (coerce_text(entry.get(part)), coerce_text(get_provenance(entry).get("template")))
    if part == INSTRUCTION:
        found = [f"to fill in: {blank}" for blank in find_unfilled(entry)]
        if found:  # needed to fill in the blanks
            found = [f"the task: {_task_meaning(entry)}", *found]
        found += [f"it does not name {name}" for name in find_missing_image_tags(text, template)]
        if not text.strip() and not template:
            found.append("it is not written yet")
        if find_quotes(template) and not find_quotes(text):
            found.append("the text to render is not in quotation marks")
        if not needs_filling(entry) and TARGET_CAPTION not in _list_texts(entry):
            found.append(f"the {_KINDS[TARGET_CAPTION]} is not written yet. Run creval build ice again.")
        return tuple(found)
    if part == TARGET_CAPTION and is_outdated(entry):
        remedy = "accept or change it" if is_human_written(entry, part) else "accept it, change it, or build again"
        return (f"the instruction was changed afterwards: {remedy}",)
    return ()


def _require_complete(entry: ItemEntry, part: str) -> None:
    """Raise `CrevalError` if a text that is to be accepted is empty or has unfilled blanks."""
    if part == INSTRUCTION and (open_ := find_unfilled(entry)):
        raise CrevalError(f"{{{open_[0]}}} is not filled in yet.")
    if not coerce_text(entry.get(part)).strip():
        raise CrevalError("an empty text cannot be accepted. Write it first.")


def _change_text(entry: ItemEntry, part: str, user_text: str) -> None:
    """Change a text. Raises `CrevalError` if the new text is invalid."""
    task, references = find_task(coerce_text(entry.get("Task"))), reference_names(entry)
    names = allowed_image_tags(task, len(references)) if task and part == INSTRUCTION else ()
    if not user_text:
        raise CrevalError("a text cannot be empty. Drop it instead.")
    if reason := invalid_text_reason(user_text, names):
        raise CrevalError(f"this text is invalid ({reason}).")
    entry[part] = user_text
    mark_human_written(entry, part)
    if part == TARGET_CAPTION:
        record_instruction_digest(entry)


def _task_meaning(entry: ItemEntry) -> str:
    """Return the description of an item's task."""
    name = coerce_text(entry.get("Task"))
    return TASK_KITS[task.name].meaning if (task := find_task(name)) else name
