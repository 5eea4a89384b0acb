"""Checks paths that a server or an archive names: they must be inside the folder and not lead through links."""

from __future__ import annotations

from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.filenames import invalid_filename_reason


def safe_target(folder: Path, path: str) -> Path:
    """Return the path of a file in a folder.

    Raises `CrevalError` if it would be outside the folder or behind a link.
    """
    reason = "" if path.isprintable() and "\\" not in path and ":" not in path else "has an invalid character"
    if not reason and (reason := invalid_filename_reason(path)):
        reason = reason.replace("an id that", "a name that").replace("would be", "is")
    if reason:
        raise CrevalError(f"a file of the release {reason}: {path[:200]!r}.")
    target = folder / path
    for parent in (target, *target.parents):
        if parent == folder:
            break
        if parent.is_symlink():
            raise CrevalError(f"{parent} is a link. Nothing is written through links; give another `out`.")
    return target
