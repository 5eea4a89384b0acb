"""A built ComplexBench-Edit in the release's own layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from creval.benchmarks.complexbench_release import SUBSETS
from creval.benchmarks.files import read_json
from creval.core.errors import CrevalError
from creval.core.files import clean_text, copy_whole, write_json

_KINDS = frozenset({".jpg", ".jpeg", ".png", ".webp"})


def has_place(name: str) -> bool:
    """Whether the layout has pictures of this kind."""
    return Path(name).suffix.casefold() in _KINDS


def key_of(name: str) -> str:
    """The key of a picture: its file's name, as a number where it is one.

    >>> key_of("val2017/000000198641.jpg")
    '198641'
    """
    stem = clean_text(Path(name).stem)
    return str(int(stem)) if re.fullmatch("[0-9]{1,18}", stem) else stem


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

    def has(self, subsets: Iterable[str], name: str) -> bool:
        """Whether one of these subsets holds a picture."""
        return any(key_of(name) in self.subsets[subset] for subset in subsets)

    def add(
        self, subset: str, name: str, picture: Path, made: dict[str, Any], by: dict[str, Any]
    ) -> None:
        """An entry and its picture; `save` writes the entries."""
        key, image = key_of(name), clean_text(picture.name)
        rejected = made.pop("rejected")
        self.subsets[subset][key] = {
            "img_path": image,
            **made,
            "made": {**by, "rejected": rejected},
        }
        path = self.folder / "data" / "images" / f"{key}-{image}"
        if not path.is_file():
            copy_whole(picture, path)

    def save(self, subsets: Iterable[str] = SUBSETS) -> None:
        """Write subsets, in the order of their keys; one without samples is there and empty."""
        for subset in subsets:
            entries = self.subsets[subset].items()
            ordered = sorted(entries, key=lambda one: (len(one[0]), one[0]))
            write_json(file_of(self.folder, subset), dict(ordered))
