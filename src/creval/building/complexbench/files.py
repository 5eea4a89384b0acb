"""Files of a built ComplexBench-Edit benchmark, in the release's layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from creval.benchmarks.complexbench_edit.release import ALL_SUBSETS, PARALLEL_ANY
from creval.building.creval.sources import safe_filename
from creval.building.image_files import copy_image, release_suffix
from creval.core.errors import CrevalError
from creval.core.files import coerce_text, read_json, replace_lone_surrogates, write_json

_MAX_STEM_BYTES = 90  # bytes of a stem, which occurs twice in an image's file name (KEY-NAME)


def image_key(name: str) -> str:
    """Return the key of an image: the stem of its file name, without leading zeros if it is a number.

    >>> image_key("val2017/000000198641.jpg")
    '198641'
    """
    stem = safe_filename(PurePath(name).stem, _MAX_STEM_BYTES)
    return str(int(stem)) if re.fullmatch("[0-9]{1,18}", stem) else stem


def _image_filename(name: str) -> str:
    """Return the file name of an image in the benchmark, without the key."""
    path = PurePath(name)
    return safe_filename(path.stem, _MAX_STEM_BYTES) + release_suffix(path)


def instructions_file(folder: Path, subset: str) -> Path:
    return folder / "data" / "instructions" / subset / "final_update_v2.json"


class ComplexBenchEntries:
    """Entries of all subsets. Existing entries are never overwritten."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.subsets: dict[str, dict[str, Any]] = {}
        for subset in ALL_SUBSETS:
            path = instructions_file(folder, subset)
            content = read_json(path) if path.is_file() else {}
            if not isinstance(content, dict):
                raise CrevalError(f"{path} must be an object of samples by key.")
            self.subsets[subset] = content
        self._images = {
            key.casefold(): coerce_text(made.get("picture"))
            for entries in self.subsets.values()
            for key, entry in entries.items()
            if isinstance(made := entry.get("made") if isinstance(entry, dict) else None, dict)
        }

    def has(self, subsets: Iterable[str], name: str) -> bool:
        """Return whether one of these subsets contains this image."""
        return any(image_key(name) in self.subsets[subset] for subset in subsets)

    def find_key_clashes(self, names: Iterable[str]) -> dict[str, str]:
        """Return the images whose key another image has, with the reason.

        An image with an existing entry keeps its key.
        """
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(image_key(name).casefold(), []).append(name)
        found: dict[str, str] = {}
        for key, group in alike.items():
            stored = self._images.get(key, "")
            first = next((name for name in group if replace_lone_surrogates(name) == stored), group[0])
            why = f"it would have the same key as {first}. Rename it."
            found |= {name: why for name in group if name != first}
        return found

    def save_image(self, name: str, image: Path) -> None:
        """Copy an image into the benchmark unless it exists there."""
        path = self.folder / "data" / "images" / f"{image_key(name)}-{_image_filename(name)}"
        if not path.is_file():
            copy_image(image, path)

    def add(self, subset: str, name: str, steps: Mapping[str, Any], provenance: Any) -> bool:
        """Add an entry in memory; `save` writes it. Return False if its key exists already."""
        key = image_key(name)
        if key in self.subsets[subset]:
            return False
        facts = {"picture": name, **provenance}
        self.subsets[subset][key] = {"img_path": _image_filename(name), **steps, "made": facts}
        self._images[key.casefold()] = replace_lone_surrogates(name)
        return True

    def save(self, subsets: Iterable[str] = ALL_SUBSETS) -> None:
        """Write the files of subsets, sorted by key. A subset of the release gets a file even if it has no samples."""
        for subset in subsets:
            if subset == PARALLEL_ANY and not self.subsets[subset]:
                continue
            entries = self.subsets[subset].items()
            ordered = sorted(entries, key=lambda one: (len(one[0]), one[0]))
            write_json(instructions_file(self.folder, subset), dict(ordered))
