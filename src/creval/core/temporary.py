"""Temporary files and folders. Leftovers of killed processes are removed by the next process that creates one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_HOST = hashlib.blake2b(socket.gethostname().encode("utf-8", "replace"), digest_size=4).hexdigest()
_NAME = re.compile(r"\.?creval-tmp-([0-9a-f]{8})-([0-9]{1,9})-.*")
_MAX_AGE = 86_400  # seconds after which leftovers of another machine are removed
_numbers = count()
_cleaned: set[Path] = set()


def temporary_path(folder: Path) -> Path:
    """Return a path for a hidden temporary file in a folder. No other process uses the same path."""
    _clean(folder)
    return folder / f".{_prefix()}{next(_numbers)}"


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder, hidden if `parent` is given. Remove it at the end; errors of this are ignored."""
    where = Path(tempfile.gettempdir()) if parent is None else parent
    _clean(where)
    dot = "" if parent is None else "."
    with tempfile.TemporaryDirectory(prefix=f"{dot}{_prefix()}", dir=where, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _prefix() -> str:
    return f"creval-tmp-{_HOST}-{os.getpid()}-"


def _clean(folder: Path) -> None:
    """Remove the leftovers of killed processes from a folder.

    Only the first call for a folder does so, to save time.
    """
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (match := _NAME.fullmatch(entry.name)) and _is_abandoned(match[1], int(match[2]), entry):
                _remove(entry)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(entry.path)  # noqa: PTH108 (an entry has no Path)


def _is_abandoned(host: str, process: int, entry: os.DirEntry[str]) -> bool:
    """Return whether the process that created a temporary entry has ended.

    A process on another machine is assumed to have ended after a day.
    """
    status = entry.stat(follow_symlinks=False)
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    if host != _HOST or os.name == "nt":  # on Windows, os.kill would end the process
        return time.time() - status.st_mtime > _MAX_AGE
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
