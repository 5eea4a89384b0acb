"""A built Complex-Edit as rows that people can read and change, each beside its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complex_edit.rows import row_files
from creval.calls.text_generation import Item
from creval.core.errors import CrevalError
from creval.core.files import clean_text, copy_whole, read_json, write_json

SPLIT = "built"


class Rows:
    """The rows in a benchmark's folder. One that is there stays as it is, whoever changed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / SPLIT
        self._numbers: dict[str, int] = {}
        for path in row_files(folder).get(SPLIT, ()):
            content = read_json(path)
            if not isinstance(content, dict):
                raise CrevalError(f"{path} is not a row; delete it, and it is made again.")
            self._numbers[str(content.get("picture"))] = int(path.stem)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: str) -> bool:
        return clean_text(name) in self._numbers

    def numbered(self, names: Sequence[str]) -> dict[str, int]:
        """A number for each picture: its own, or its place among all, or the next that is free."""
        taken, found = set(self._numbers.values()), {}
        for at, name in enumerate(names):
            number = self._numbers.get(clean_text(name))
            if number is None:
                number = at if at not in taken else max(taken) + 1
            taken.add(number)
            found[name] = number
        return found

    def write(self, item: Item, number: int, edit: Mapping[str, Any], made: Any) -> None:
        """A row and its picture; `made` is how it came about."""
        if item.picture is None:
            raise CrevalError(f"{item.id} has no picture.")
        image = f"{number:04d}{item.picture.suffix.casefold()}"
        copy_whole(item.picture, self.folder / image)
        content = {
            "image": image,
            "picture": item.id,
            "edit": edit,
            "made": made,
        }
        write_json(self.folder / f"{number:04d}.json", content)
        self._numbers[clean_text(item.id)] = number
