"""Lines of ICE-Bench's item file, for the reader and the builder of benchmarks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.core.files import MAX_JSON_BYTES, clean_text, coerce_text, read_bytes
from creval.core.table_files import parse_json_line

ITEMS_FILE = "data.jsonl"
ITEMS_FOLDERS = ("dataset", "data")
"""Possible names of the folder with the items."""
BLANK_PATTERN = re.compile(r"\{([^{}]{0,200})\}")
"""A placeholder in an instruction template."""
IMAGE_REFERENCE = re.compile(r"[<\[](SOURCE|REF_([0-9]{1,4}))[>\]]")
"""A reference to an image in an instruction."""


def read_item_lines(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield the line number, the item and an error for each non-empty line.

    The error is empty if the line is valid. If the line is malformed, the item is empty.
    """
    try:
        lines = read_bytes(path, MAX_JSON_BYTES).splitlines()
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, *parse_json_line(line)


def find_blanks(text: str) -> list[str]:
    """Return the placeholders in a template or in an instruction.

    >>> find_blanks("Make {the thing} in <SOURCE> {its new colour}.")
    ['the thing', 'its new colour']
    """
    return BLANK_PATTERN.findall(text)


def find_unfilled(entry: Mapping[str, Any]) -> list[str]:
    """Return the unfilled placeholders of an item of `creval build`. In released items, braces are ordinary text."""
    built = isinstance(entry.get("made"), dict)
    return find_blanks(coerce_text(entry.get("Instruction"))) if built else []


def reference_names(entry: Mapping[str, Any]) -> list[object]:
    """Return the image names of an item's references. A single name may be given without a list."""
    given = entry.get("ReferenceImages")
    return given if isinstance(given, list) else [given] if given else []


def resolve_image_path(folder: Path, given: object) -> Path | None:
    """Return the path of an image named in an item, even if no such file exists.

    None if the name is empty, or if the path is outside the benchmark.
    """
    name = clean_image_name(given)
    if not name:
        return None
    root = benchmark_root(folder)
    first, _, inner = name.partition("/")
    wanted = [folder / name, root / name]
    if inner and first not in ("", ".", ".."):  # the folder was renamed
        wanted.append(folder / inner)
    paths = [Path(os.path.normpath(path)) for path in wanted]
    paths = [path for path in paths if path.is_relative_to(root)]
    existing = (path for path in paths if os.path.isfile(path))  # noqa: PTH113
    return next(existing, paths[0] if paths else None)


def clean_image_name(given: object) -> str:
    """Return an image name of an item, with forward slashes."""
    return clean_text(given).replace("\\", "/")


def benchmark_root(folder: Path) -> Path:
    """Return the root folder of the benchmark, given the folder of the items."""
    return folder.parent if folder.name in ITEMS_FOLDERS else folder
