"""Files of a built Complex-Edit benchmark: next to each image, a JSON file with its row. People can edit the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.complex_edit.rows import find_row_files
from creval.calls.text_generation import GenerationItem
from creval.core.errors import CrevalError
from creval.core.files import atomic_copy, read_json, replace_lone_surrogates, write_json

SPLIT = "built"


class ComplexEditRows:
    """Rows in a benchmark's folder. Existing rows are never overwritten."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / SPLIT
        self._numbers: dict[str, int] = {}
        for path in find_row_files(folder).get(SPLIT, ()):
            content = read_json(path)
            if not isinstance(content, dict):
                raise CrevalError(
                    f"{path} does not contain a JSON object. Delete it, and the item will be built again."
                )
            self._numbers[str(content.get("picture"))] = int(path.stem)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: str) -> bool:
        return replace_lone_surrogates(name) in self._numbers

    def assign_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """Return a number for each image: its stored number, otherwise its index or the next number that is free."""
        taken, found = set(self._numbers.values()), {}
        for at, name in enumerate(names):
            number = self._numbers.get(replace_lone_surrogates(name))
            if number is None:
                number = at if at not in taken else max(taken) + 1
            taken.add(number)
            found[name] = number
        return found

    def write(self, item: GenerationItem, number: int, edit: Mapping[str, Any], provenance: Any) -> None:
        """Write an item's row and image."""
        if item.image is None:
            raise CrevalError(f"{item.id} has no image.")
        image = f"{number:04d}{item.image.suffix.casefold()}"
        atomic_copy(item.image, self.folder / image)
        content = {"image": image, "picture": item.id, "edit": edit, "made": provenance}
        write_json(self.folder / f"{number:04d}.json", content)
        self._numbers[replace_lone_surrogates(item.id)] = number
