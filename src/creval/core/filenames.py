"""File names of edits.

`ID.png` is a sample's edit, and `ID--2.png` its second draw. Slashes in an id become folders. If a sample has the id
`a--2`, that name means the sample, not the second draw of `a`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container

_DRAW = re.compile(r"(.+)--([0-9]{1,9})", re.DOTALL)
_DASHES = re.compile(r"(?<!-)-{2,}(?=[0-9]{1,9}$)")
_MAX_NAME_BYTES = 240  # leaves room for prefixes and suffixes
_MAX_PATH_BYTES = 2000


def draw_filename(name: str, draw: int) -> str:
    """Return the file name of a sample's draw, without suffix."""
    return f"{name}--{draw}"


def parse_edit_filename(stem: str, known: Container[str] = ()) -> tuple[str, int]:
    """Return the sample and the draw that a file stem names. A stem in `known` is that sample's id, with draw 0.

    >>> parse_edit_filename("cat--2"), parse_edit_filename("cat--2", {"cat--2"})
    (('cat', 2), ('cat--2', 0))
    """
    match = None if stem in known else _DRAW.fullmatch(stem)
    return (match[1], int(match[2])) if match else (stem, 0)


def escape_draw_suffix(name: str) -> str:
    """Return a similar name that cannot be mistaken for a draw of another sample.

    >>> escape_draw_suffix("cat--2")
    'cat_2'
    """
    return _DASHES.sub("_", name)


def invalid_filename_reason(name: str) -> str:
    """Return why a sample's id cannot be an image's file name, or "" if it can."""
    parts = name.split("/")
    size = max(len(os.fsencode(part)) for part in parts)
    if "\0" in name or size > _MAX_NAME_BYTES or len(os.fsencode(name)) > _MAX_PATH_BYTES:
        return "has an id that cannot be a file name"
    if {"", ".", ".."} & set(parts):
        return "has an id that points outside its folder"
    if any(part.startswith(".") for part in parts):
        return "has an id that would be a hidden file"
    return ""
