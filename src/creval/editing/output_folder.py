"""A folder that `creval edit` filled: pictures under their samples' names, and why others are not
there."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterator
from pathlib import Path

from creval.core.edit import Edit, EditStatus
from creval.core.errors import CrevalError
from creval.core.filenames import unnameable
from creval.editing.strategies import Finished
from creval.editors.output_checks import SUFFIXES
from creval.store import Store


def pictures_in(folder: Path) -> Iterator[Path]:
    """The pictures that lie in a folder."""
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.casefold() in SUFFIXES.values() and not path.name.startswith("."):
                yield path


def keep(folder: Path, finished: Finished) -> None:
    """Keep what a strategy came to: in the store all of it, in the folder the samples' pictures."""
    with Store(folder) as store, store.transaction():
        store.put_edits(finished.between.values())
        store.put_edits(finished.edits.values())
    for edit in finished.edits.values():
        if edit.status is EditStatus.DONE or not unplaceable(folder, edit.key.sample):
            _place(folder, edit)


def unplaceable(folder: Path, sample: str) -> str:
    """Why a sample's picture cannot lie in a folder under its name; empty where it can."""
    if reason := unnameable(sample):
        return reason
    inside = (folder / sample).parent.resolve().is_relative_to(folder.resolve())
    return "" if inside else f"has a name that leads out of {folder}"


def place_of(folder: Path, sample: str) -> Path:
    """Where a sample's picture goes, without its suffix; `CrevalError` where it can go nowhere."""
    if reason := unplaceable(folder, sample):
        raise CrevalError(f"the sample {sample!r} {reason}.")
    return folder / sample


def _place(folder: Path, edit: Edit) -> None:
    """A picture under its sample's name; one that was there before by another file's end goes."""
    stem = place_of(folder, edit.key.sample)
    wanted = None
    if edit.status is EditStatus.DONE and edit.image is not None:
        wanted = stem.with_name(stem.name + edit.image.suffix)
        stem.parent.mkdir(parents=True, exist_ok=True)
        _copy(edit.image, wanted)
    for suffix in SUFFIXES.values():
        other = stem.with_name(stem.name + suffix)
        if other != wanted:
            other.unlink(missing_ok=True)


def _copy(image: Path, place: Path) -> None:
    """A copy, and no link: whoever writes over it leaves what was kept alone."""
    if place.is_file() and filecmp.cmp(image, place):
        return
    new = place.with_name(f".{place.name}.new")
    shutil.copy2(image, new)
    new.replace(place)
