"""A built ComplexBench-Edit in the release's own layout."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from creval.benchmarks.complexbench_release import SUBSETS
from creval.benchmarks.files import read_json, text_of
from creval.build.sources import safe_name
from creval.core.errors import CrevalError
from creval.core.files import clean_text, copy_whole, write_json, write_whole
from creval.core.images import open_image

_KINDS = frozenset({".jpg", ".jpeg", ".png", ".webp"})
"""The kinds of pictures that the layout has; others are saved as PNG."""
_LONGEST = 90  # bytes of a stem: a picture is called KEY-NAME


def key_of(name: str) -> str:
    """The key of a picture: its file's name, as a number where it is one.

    >>> key_of("val2017/000000198641.jpg")
    '198641'
    """
    stem = safe_name(PurePath(name).stem, _LONGEST)
    return str(int(stem)) if re.fullmatch("[0-9]{1,18}", stem) else stem


def _image_of(name: str) -> str:
    """What a picture's file is called, besides the key."""
    path = PurePath(name)
    ending = path.suffix if path.suffix.casefold() in _KINDS else ".png"
    return safe_name(path.stem, _LONGEST) + ending


def file_of(folder: Path, subset: str) -> Path:
    return folder / "data" / "instructions" / subset / "final_update_v2.json"


class Entries:
    """The entries of all subsets. One that is there stays as it is, whoever changed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.subsets: dict[str, dict[str, Any]] = {}
        for subset in SUBSETS:
            path = file_of(folder, subset)
            content = read_json(path) if path.is_file() else {}
            if not isinstance(content, dict):
                raise CrevalError(f"{path} should hold an object of samples by their keys.")
            self.subsets[subset] = content
        self._pictures = {
            key.casefold(): text_of(made.get("picture"))
            for entries in self.subsets.values()
            for key, entry in entries.items()
            if isinstance(made := entry.get("made") if isinstance(entry, dict) else None, dict)
        }

    def has(self, subsets: Iterable[str], name: str) -> bool:
        """Whether one of these subsets holds a picture."""
        return any(key_of(name) in self.subsets[subset] for subset in subsets)

    def clashes(self, names: Iterable[str]) -> dict[str, str]:
        """Pictures that would have the key of another one, and why they cannot be used. The one
        that has a key already keeps it."""
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(key_of(name).casefold(), []).append(name)
        found: dict[str, str] = {}
        for key, group in alike.items():
            held = self._pictures.get(key, "")
            first = next((name for name in group if clean_text(name) == held), group[0])
            why = f"it would have the key of {first}; rename it"
            found |= {name: why for name in group if name != first}
        return found

    def add(
        self, subset: str, name: str, picture: Path, steps: Mapping[str, Any], made: Any
    ) -> None:
        """An entry and its picture; `save` writes the entries. `made` is how it came about."""
        key, image = key_of(name), _image_of(name)
        path = self.folder / "data" / "images" / f"{key}-{image}"
        if not path.is_file():
            _put(picture, path)
        facts = {"picture": name, **made}
        self.subsets[subset][key] = {"img_path": image, **steps, "made": facts}
        self._pictures[key.casefold()] = clean_text(name)

    def save(self, subsets: Iterable[str] = SUBSETS) -> None:
        """Write subsets, in the order of their keys; one without samples is there and empty."""
        for subset in subsets:
            entries = self.subsets[subset].items()
            ordered = sorted(entries, key=lambda one: (len(one[0]), one[0]))
            write_json(file_of(self.folder, subset), dict(ordered))


def _put(picture: Path, path: Path) -> None:
    """Copy a picture; one of another kind than its new name says becomes a PNG."""
    if picture.suffix == path.suffix:
        copy_whole(picture, path)
    else:
        png = io.BytesIO()
        open_image(picture).save(png, "PNG")
        write_whole(path, png.getvalue())
