"""A folder that `creval edit` filled: pictures under their samples' names, and why others are not there."""

from __future__ import annotations

import filecmp
from collections.abc import Iterable, Iterator
from pathlib import Path

from creval.core.edit_record import Edit, EditStatus
from creval.core.errors import CrevalError
from creval.core.filenames import draw_filename, invalid_filename_reason
from creval.core.files import atomic_copy, atomic_path
from creval.editing.strategies import StrategyResult
from creval.editors.output_checks import SUFFIX_BY_FORMAT
from creval.store import RunWriter


def list_folder_images(folder: Path) -> Iterator[Path]:
    """The pictures that lie in a folder."""
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.casefold() in SUFFIX_BY_FORMAT.values() and not path.name.startswith("."):
                yield path


def save_edits(folder: Path, result: StrategyResult) -> None:
    """Keep what a strategy came to: in the store all of it, in the folder the samples' pictures."""
    with RunWriter(folder) as store, store.transaction():
        store.put_edits(result.intermediate.values())
        store.put_edits(result.edits.values())
    for edit in result.edits.values():
        if edit.status is EditStatus.DONE or not invalid_path_reason(folder, edit.key.sample):
            _place_image(folder, edit)


def remove_images(folder: Path, edits: Iterable[Edit]) -> None:
    """Take the samples' images out of the folder, since all are made again. Those in `.made` stay."""
    for edit in edits:
        if not invalid_path_reason(folder, edit.key.sample):
            _place_image(folder, edit._replace(status=EditStatus.ABSENT))


def invalid_path_reason(folder: Path, sample: str) -> str:
    """Why a sample's picture cannot lie in a folder under its name; empty where it can."""
    if reason := invalid_filename_reason(sample):
        return reason
    inside = (folder / sample).parent.resolve().is_relative_to(folder.resolve())
    return "" if inside else f"has a name that leads out of {folder}"


def sample_image_stem(folder: Path, sample: str) -> Path:
    """Where a sample's picture goes, without its suffix; `CrevalError` where it can go nowhere."""
    if reason := invalid_path_reason(folder, sample):
        raise CrevalError(f"the sample {sample!r} {reason}.")
    return folder / sample


def _place_image(folder: Path, edit: Edit) -> None:
    """A picture under its sample's name; one that was there before by another file's end goes."""
    stem = sample_image_stem(folder, edit.key.sample)
    if edit.key.draw:
        stem = stem.with_name(draw_filename(stem.name, edit.key.draw))
    wanted = None
    if edit.status is EditStatus.DONE and edit.image is not None:
        wanted = stem.with_name(stem.name + edit.image.suffix)
        stem.parent.mkdir(parents=True, exist_ok=True)
        _link_image(edit.image, wanted)
    for suffix in SUFFIX_BY_FORMAT.values():
        other = stem.with_name(stem.name + suffix)
        if other != wanted:
            other.unlink(missing_ok=True)


def _link_image(image: Path, destination: Path) -> None:
    """Put an image under another name as well: it is there once, or twice if the file system knows no hard links."""
    if destination.is_file() and destination.samefile(image):
        return
    try:
        with atomic_path(destination) as new:
            new.hardlink_to(image)
    except OSError:
        if not destination.is_file() or not filecmp.cmp(image, destination, shallow=False):
            atomic_copy(image, destination)
