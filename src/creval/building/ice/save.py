"""What was made, put among a benchmark's items as they are by then: people may have changed them
meanwhile, also while the pictures were copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from creval.building.ice.files import HOME, Entry, Items, picture_path
from creval.building.ice.jobs import Job
from creval.building.ice.texts import Inputs, Written
from creval.building.images import kept_ending, put_picture
from creval.calls.text_generation import Wrote
from creval.core.files import text_of
from creval.core.images import ImageError
from creval.store.lock import turn

_TYPES = {"real": "Real Image", "generated": "Generated Image"}
"""Where sources come from, in the release's words."""


class Made(NamedTuple):
    """What became of an item: its inputs and texts, and how they came about. A new one has its job,
    another the texts that it had `before`."""

    item: str
    inputs: Inputs
    written: Written
    facts: Mapping[str, Any]
    job: Job | None = None
    before: Mapping[str, str] = {}


def keep(folder: Path, wrote: Wrote[Made], source_types: Mapping[str, str]) -> Items:
    """Write what was made, and where sources come from; all items. What somebody else has changed
    meanwhile is left out."""
    places = _put_pictures(folder, wrote)
    with turn(folder):
        items = Items(folder)
        for identity, made in list(wrote.made.items()):
            if not _put(items, made, places.get(identity)):
                wrote.left_out[identity] = "it was changed meanwhile; build again"
                del wrote.made[identity]
        for entry, kind in _typed(items, source_types):
            if not _type_of(entry):
                entry["SourceImageType"] = kind
        items.give_people_theirs()
        if items.entries:
            items.save()
    return items


def of_other_types(items: Items, source_types: Mapping[str, str]) -> list[str]:
    """Items whose source is said to come from somewhere else; that stays."""
    return [
        text_of(entry["ItemID"])
        for entry, kind in _typed(items, source_types)
        if _type_of(entry) not in ("", kind)
    ]


def _put(items: Items, made: Made, places: Mapping[str, str] | None) -> bool:
    """Put what was made among the items, if that can be."""
    if made.job is None:
        return items.complete(made.item, made.before, made.written, made.facts)
    task = made.inputs.task
    return places is not None and items.add(made.job, task, places, made.written, made.facts)


def _typed(items: Items, source_types: Mapping[str, str]) -> Iterator[tuple[Entry, str]]:
    """Items that have a source of which somebody says now where it comes from, by what they are
    made of."""
    for name, one in items.there().items():
        entry, kind = items.entries[name], source_types.get(one.key)
        if kind and entry.get("SourceImage"):
            yield entry, _TYPES[kind]


def _type_of(entry: Entry) -> str:
    return text_of(entry.get("SourceImageType")).strip()


def _put_pictures(folder: Path, wrote: Wrote[Made]) -> dict[str, dict[str, str]]:
    """Copy the pictures of new items, but for those whose names somebody has used meanwhile."""
    there, places = Items(folder).entries, {}
    for identity, made in list(wrote.made.items()):
        if made.job is None or made.item in there:
            continue
        try:
            places[identity] = _copied(folder, made.item, made.inputs)
        except (ImageError, OSError) as error:
            why = getattr(error, "strerror", None) or error
            wrote.left_out[identity] = f"its pictures cannot be written: {why}"
            del wrote.made[identity]
    return places


def _copied(folder: Path, item: str, inputs: Inputs) -> dict[str, str]:
    """Copy an item's pictures to where they belong; their names, by what they are."""
    kinds = {"src": inputs.source, "mask": inputs.mask, "photo": inputs.photograph}
    kinds |= {f"ref{n}": path for n, path in enumerate(inputs.references, 1)}
    places = {}
    for kind, path in kinds.items():
        if path is None:
            continue
        to = picture_path(folder, item, inputs.task, kind, kept_ending(path))
        if path != to:
            put_picture(path, to)
        places[kind] = to.relative_to(folder / HOME).as_posix()
    return places
