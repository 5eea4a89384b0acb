"""Complex-Edit's rows as editable JSON files, the format of `creval build`.

Layout: `SPLIT/0007.json`, with `image` (the file name of an image in the same folder) and `edit` as in the release.
Parts of `edit` that are marked `dropped` are left out. Dropping an atomic operation also drops the compound
instructions that contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.benchmark import IssueList
from creval.core.errors import CrevalError
from creval.core.files import coerce_text, dig, is_file, read_json

_ROW_STEM = re.compile(r"[0-9]{4,9}")


class ComplexEditRow(NamedTuple):
    """A row: its number, its image or None, its `edit`, and the model that wrote the `edit`."""

    number: int
    source: Path | None
    edit: Any
    writer: str = ""


def find_row_files(folder: Path) -> dict[str, list[Path]]:
    """Return the row files by split, in order."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/*.json"), key=lambda path: (path.parent, len(path.stem), path)):
        if _ROW_STEM.fullmatch(path.stem) and re.fullmatch(r"\w[\w.-]*", path.parent.name):
            found.setdefault(path.parent.name, []).append(path)
    return found


def has_row_files(folder: Path) -> bool:
    """Return True if a folder contains row files, of which at least one is readable."""
    for files in find_row_files(folder).values():
        for path in files[:20]:
            try:
                content = read_json(path)
            except CrevalError:
                continue
            if isinstance(content, dict) and {"image", "edit"} <= content.keys():
                return True
    return False


def read_row_files(split: str, files: list[Path], issues: IssueList) -> Iterator[ComplexEditRow]:
    """Yield the rows of a split. Unreadable files become issues."""
    for path in files:
        try:
            content = read_json(path)
        except CrevalError as error:
            issues.add("broken row", f"{split}/{path.stem}", f"{error} It is left out.")
            continue
        name = coerce_text(dig(content, "image"))
        # The image must be in the same folder as its row.
        source = path.parent / name if name and Path(name).name == name else None
        if source is not None and not is_file(source):
            source = None
        writer = coerce_text(dig(content, "made", "writer"))
        yield ComplexEditRow(int(path.stem), source, dig(content, "edit"), writer)
