"""Saves new items into a benchmark that people may have changed since the build started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from creval.building.ice.files import DATASET_FOLDER, IceItems, ItemDraft, ItemEntry, item_image_path
from creval.building.ice.texts import ItemInputs
from creval.building.image_files import copy_image, release_suffix, write_error_reason
from creval.calls.text_generation import GenerationResult
from creval.core.files import coerce_text
from creval.core.images import ImageError
from creval.store.lock import file_lock

_SOURCE_TYPES = {"real": "Real Image", "generated": "Generated Image"}
"""Source types, by the names that users give, in the words of the release."""


def save_items(folder: Path, result: GenerationResult[ItemDraft], source_types: Mapping[str, str]) -> IceItems:
    """Save new items and source types, and return all items of the benchmark.

    New texts are not saved for items that people have changed since the build started.
    """
    places = _copy_new_images(folder, result)
    with file_lock(folder):
        items = IceItems(folder)
        for identity, made in list(result.results.items()):
            if made.job is None:
                is_saved = items.complete(made)
            else:  # `places` lacks items whose images were not copied; an entry without images is valid
                is_saved = identity in places and items.add(made, made.job, places[identity])
            if not is_saved:
                result.leave_out(identity, "it was changed during the build. Build again.")
        for entry, kind in _find_typed_entries(items, source_types):
            if not _read_source_type(entry):
                entry["SourceImageType"] = kind
        items.mark_human_texts()
        if items.entries:
            items.save()
    return items


def find_source_type_conflicts(items: IceItems, source_types: Mapping[str, str]) -> list[str]:
    """Return items whose stored source type differs from the given one."""
    return [
        coerce_text(entry["ItemID"])
        for entry, kind in _find_typed_entries(items, source_types)
        if _read_source_type(entry) not in ("", kind)
    ]


def _find_typed_entries(items: IceItems, source_types: Mapping[str, str]) -> Iterator[tuple[ItemEntry, str]]:
    """Yield the built items that have a source image and whose job has a given source type, each with that type."""
    for name, one in items.find_built().items():
        entry, kind = items.entries[name], source_types.get(one.key)
        if kind and entry.get("SourceImage"):
            yield entry, _SOURCE_TYPES[kind]


def _read_source_type(entry: ItemEntry) -> str:
    return coerce_text(entry.get("SourceImageType")).strip()


def _copy_new_images(folder: Path, result: GenerationResult[ItemDraft]) -> dict[str, dict[str, str]]:
    """Copy the images of new items, except items whose id was added to the benchmark during the build."""
    existing, places = IceItems(folder).entries, {}
    for identity, made in list(result.results.items()):
        if made.job is None or made.item_id in existing:
            continue
        try:
            places[identity] = _copy_item_images(folder, made.item_id, made.inputs)
        except (ImageError, OSError) as error:
            result.leave_out(identity, f"its images cannot be written: {write_error_reason(error)}")
    return places


def _copy_item_images(folder: Path, item: str, inputs: ItemInputs) -> dict[str, str]:
    """Copy an item's images into the benchmark. Return their relative paths by kind."""
    kinds = {"src": inputs.source, "mask": inputs.mask, "photo": inputs.photograph}
    kinds |= {f"ref{n}": path for n, path in enumerate(inputs.references, 1)}
    places = {}
    for kind, path in kinds.items():
        if path is None:
            continue
        target = item_image_path(folder, item, inputs.task, kind, release_suffix(path))
        if path != target:
            copy_image(path, target)
        places[kind] = target.relative_to(folder / DATASET_FOLDER).as_posix()
    return places
