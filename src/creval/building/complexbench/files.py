"""A built ComplexBench-Edit in the release's own layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from creval.benchmarks.complexbench_edit.release import SUBSETS
from creval.building.creval.sources import safe_name
from creval.building.images import kept_ending, put_picture
from creval.core.errors import CrevalError
from creval.core.files import clean_text, read_json, text_of, write_json

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
    return safe_name(path.stem, _LONGEST) + kept_ending(path)


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

    def put_picture(self, name: str, picture: Path) -> None:
        """Copy a picture to where it belongs."""
        path = self.folder / "data" / "images" / f"{key_of(name)}-{_image_of(name)}"
        if not path.is_file():
            put_picture(picture, path)

    def add(self, subset: str, name: str, steps: Mapping[str, Any], made: Any) -> bool:
        """An entry whose picture is there; `save` writes the entries. `made` is how it came about.
        Not where somebody has put one of its key there meanwhile."""
        key = key_of(name)
        if key in self.subsets[subset]:
            return False
        facts = {"picture": name, **made}
        self.subsets[subset][key] = {"img_path": _image_of(name), **steps, "made": facts}
        self._pictures[key.casefold()] = clean_text(name)
        return True

    def save(self, subsets: Iterable[str] = SUBSETS) -> None:
        """Write subsets, in the order of their keys; one without samples is there and empty."""
        for subset in subsets:
            entries = self.subsets[subset].items()
            ordered = sorted(entries, key=lambda one: (len(one[0]), one[0]))
            write_json(file_of(self.folder, subset), dict(ordered))
