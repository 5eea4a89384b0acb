"""Reading the files of a release, which may hold anything."""

from __future__ import annotations

import json
import math
from pathlib import Path, PurePosixPath
from typing import Any

from creval.core.errors import CrevalError
from creval.core.files import clean_text, read_bytes


def read_json(path: str | Path) -> Any:
    """The JSON in a file; what is wrong with it becomes a sentence."""
    try:
        return json.loads(read_bytes(path))
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CrevalError(f"{path} is not valid JSON: {error}.") from error


def text_of(value: object) -> str:
    """A field that should be text, as text: a number is one too; a list or an object is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def is_dropped(entry: object) -> bool:
    """Whether somebody has taken an entry out that was built."""
    return isinstance(entry, dict) and entry.get("dropped") is True


def stem_of(name: str) -> str:
    """A file name's stem, in a path with forward or backward slashes."""
    return clean_text(PurePosixPath(name.replace("\\", "/")).stem)
