"""Complex-Edit's rows as files that people can read and change, as `creval build` writes them.

Layout: `SPLIT/0007.json` beside its picture, with `image` (the picture's name) and `edit` as in the release. A part
of `edit` that is `dropped` is left out, and with an atomic operation all that contains it.
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
    """A row: its number, its picture if that is there, its `edit`, and which model wrote it."""

    number: int
    source: Path | None
    edit: Any
    writer: str = ""


def find_row_files(folder: Path) -> dict[str, list[Path]]:
    """The rows' files in their order, by split."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/*.json"), key=lambda path: (path.parent, len(path.stem), path)):
        if _ROW_STEM.fullmatch(path.stem) and re.fullmatch(r"\w[\w.-]*", path.parent.name):
            found.setdefault(path.parent.name, []).append(path)
    return found


def has_row_files(folder: Path) -> bool:
    """Whether a folder holds such files: one that can be read says so."""
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
    """A split's rows; what cannot be read becomes a finding."""
    for path in files:
        try:
            content = read_json(path)
        except CrevalError as error:
            issues.add("broken row", f"{split}/{path.stem}", f"{error} It is left out.")
            continue
        name = coerce_text(dig(content, "image"))
        # A picture lies beside its row, and nowhere else.
        source = path.parent / name if name and Path(name).name == name else None
        if source is not None and not is_file(source):
            source = None
        writer = coerce_text(dig(content, "made", "writer"))
        yield ComplexEditRow(int(path.stem), source, dig(content, "edit"), writer)
