"""An item of ICE-Bench as its line holds it, for whoever reads items and whoever builds them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError
from creval.core.files import clean_text, coerce_text, parse_json, read_bytes, replace_lone_surrogates

ITEMS_FILE = "data.jsonl"
ITEMS_FOLDERS = ("dataset", "data")
"""What the folder of the items may be called in a benchmark's."""
BLANK_PATTERN = re.compile(r"\{([^{}]{0,200})\}")
"""What is to be filled in in a template."""
IMAGE_REFERENCE = re.compile(r"[<\[](SOURCE|REF_([0-9]{1,4}))[>\]]")
"""What an instruction calls a picture."""


def read_item_lines(path: Path) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Each line that is not empty: its number, its item and, where there is none, an empty one and the reason."""
    try:
        lines = read_bytes(path).splitlines()
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, *parse_item_line(line)


def parse_item_line(line: bytes) -> tuple[dict[str, Any], str]:
    """The item in a line or, where there is none, an empty one and the reason."""
    try:
        found = parse_json(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, f"it is not valid JSON ({replace_lone_surrogates(str(error))[:200]})"
    return (found, "") if isinstance(found, dict) else ({}, "it is no object")


def find_blanks(text: str) -> list[str]:
    """What is to be filled in in a template, or still is in what was made of it.

    >>> find_blanks("Make {the thing} in <SOURCE> {its new colour}.")
    ['the thing', 'its new colour']
    """
    return BLANK_PATTERN.findall(text)


def find_unfilled(entry: Mapping[str, Any]) -> list[str]:
    """What nobody has filled in yet in an item that was built; in others braces are words."""
    built = isinstance(entry.get("made"), dict)
    return find_blanks(coerce_text(entry.get("Instruction"))) if built else []


def reference_names(entry: Mapping[str, Any]) -> list[object]:
    """What an item calls its references; one may stand without a list."""
    given = entry.get("ReferenceImages")
    return given if isinstance(given, list) else [given] if given else []


def resolve_image_path(folder: Path, given: object) -> Path | None:
    """The file that a name in an item stands for, or where it should be; None if it is empty or outside."""
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
    there = (path for path in paths if os.path.isfile(path))  # noqa: PTH113
    return next(there, paths[0] if paths else None)


def clean_image_name(given: object) -> str:
    """What an item calls a picture."""
    return clean_text(given).replace("\\", "/")


def benchmark_root(folder: Path) -> Path:
    """The benchmark that the folder of the items belongs to."""
    return folder.parent if folder.name in ITEMS_FOLDERS else folder
