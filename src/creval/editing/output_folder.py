"""Output folder of `creval edit`: images under their samples' names, and the reasons for missing images."""

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
    """Yield the image files of a folder."""
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.casefold() in SUFFIX_BY_FORMAT.values() and not path.name.startswith("."):
                yield path


def save_edits(folder: Path, result: StrategyResult) -> None:
    """Save the result of a strategy: all edits in the store, and the samples' images in the folder."""
    with RunWriter(folder) as store, store.transaction():
        store.put_edits(result.intermediate.values())
        store.put_edits(result.edits.values())
    for edit in result.edits.values():
        if edit.status is EditStatus.DONE or not invalid_path_reason(folder, edit.key.sample):
            _place_image(folder, edit)


def remove_images(folder: Path, edits: Iterable[Edit]) -> None:
    """Remove the samples' images from the folder before they are created again.

    The store of all created images (`.made`) is not changed.
    """
    for edit in edits:
        if not invalid_path_reason(folder, edit.key.sample):
            _place_image(folder, edit._replace(status=EditStatus.ABSENT))


def invalid_path_reason(folder: Path, sample: str) -> str:
    """Return why a sample's id cannot be a file name in the folder, or an empty string."""
    if reason := invalid_filename_reason(sample):
        return reason
    inside = (folder / sample).parent.resolve().is_relative_to(folder.resolve())
    return "" if inside else f"has an id that points outside of {folder}"


def sample_image_stem(folder: Path, sample: str) -> Path:
    """Return the path of a sample's image without its suffix. Raises `CrevalError` if the id cannot be a file name."""
    if reason := invalid_path_reason(folder, sample):
        raise CrevalError(f"the sample {sample!r} {reason}.")
    return folder / sample


def _place_image(folder: Path, edit: Edit) -> None:
    """Save an image under its sample's name, and remove files of that name with other suffixes."""
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
    """Link an image to another path, or copy it if the file system has no hard links."""
    if destination.is_file() and destination.samefile(image):
        return
    try:
        with atomic_path(destination) as new:
            new.hardlink_to(image)
    except OSError:
        if not destination.is_file() or not filecmp.cmp(image, destination, shallow=False):
            atomic_copy(image, destination)
