"""Cache folders for data derived from files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.temporary import temporary_folder

CACHE_ENV = "CREVAL_CACHE"


def cache_folder() -> Path:
    """Return the cache folder: `CREVAL_CACHE` if set, otherwise `creval` in the user's cache folder."""
    given = os.environ.get(CACHE_ENV)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "creval"


def cached_folder(kind: str, sources: Iterable[Path], fill: Callable[[Path], None]) -> Path:
    """Return a cached folder with data derived from the files `sources`.

    `fill` writes the data, again only after the path, size or time of a source has changed. The folder appears only
    when it is complete.
    """
    digest = hashlib.blake2b(digest_size=12)
    for path in sources:
        status = path.stat()
        state = f"{path.resolve()}\x1f{status.st_size}\x1f{status.st_mtime_ns}\x1e"
        digest.update(state.encode("utf-8", "surrogateescape"))
    folder = cache_folder() / kind / digest.hexdigest()
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder.parent) as unfinished:
            fill(unfinished)
            with suppress(OSError):  # another process may have created it first
                unfinished.rename(folder)
        if not folder.is_dir():
            raise OSError("it cannot be renamed")
    except OSError as error:
        where = error.filename or folder.parent
        raise CrevalError(
            f"{where}: {error.strerror or error}. creval caches derived files in {folder.parent}; "
            f"set the environment variable {CACHE_ENV} to use another folder."
        ) from error
    return folder
