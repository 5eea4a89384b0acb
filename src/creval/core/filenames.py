"""What an image's name stands for: a sample, and which of its draws.

`ID.png` is a sample's edit, `ID--2.png` its second draw; folders stand for an id's slashes. An id
that ends as a draw's name does is still an id: whoever has one reads `a--2` as that one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container

_DRAW = re.compile(r"(.+)--([0-9]{1,9})", re.DOTALL)
_DASHES = re.compile(r"(?<!-)-{2,}(?=[0-9]{1,9}$)")
_MAX_NAME_BYTES = 240  # bytes of a name, with room for what is put around it
_MAX_PATH_BYTES = 2000  # bytes of all of them together


def draw_filename(name: str, draw: int) -> str:
    """Return what a draw of a sample is called."""
    return f"{name}--{draw}"


def parse_edit_filename(stem: str, known: Container[str] = ()) -> tuple[str, int]:
    """The name of a sample, and the draw, that a file's stem stands for; one of the `known` names stands for itself.

    >>> parse_edit_filename("cat--2"), parse_edit_filename("cat--2", {"cat--2"})
    (('cat', 2), ('cat--2', 0))
    """
    match = None if stem in known else _DRAW.fullmatch(stem)
    return (match[1], int(match[2])) if match else (stem, 0)


def escape_draw_suffix(name: str) -> str:
    """Return a name that is not read as a draw of another's, and much like this one.

    >>> escape_draw_suffix("cat--2")
    'cat_2'
    """
    return _DASHES.sub("_", name)


def invalid_filename_reason(name: str) -> str:
    """Return why no image can have a sample's id as its name, or would not be found by it; empty where one can."""
    parts = name.split("/")
    size = max(len(os.fsencode(part)) for part in parts)
    if "\0" in name or size > _MAX_NAME_BYTES or len(os.fsencode(name)) > _MAX_PATH_BYTES:
        return "has a name that no file can have"
    if {"", ".", ".."} & set(parts):
        return "has a name that leads out of its folder"
    if any(part.startswith(".") for part in parts):
        return "has a name as hidden files have"
    return ""
