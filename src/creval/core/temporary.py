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
    """Return the path for a hidden file in a folder; no other process uses this path."""
    _clean(folder)
    return folder / f".{_prefix()}{next(_numbers)}"


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder, hidden if a parent is given, and remove it at the end as far as possible."""
    where = Path(tempfile.gettempdir()) if parent is None else parent
    _clean(where)
    dot = "" if parent is None else "."
    with tempfile.TemporaryDirectory(prefix=f"{dot}{_prefix()}", dir=where, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _prefix() -> str:
    return f"creval-tmp-{_HOST}-{os.getpid()}-"


def _clean(folder: Path) -> None:
    """Remove the leftovers of killed processes from a folder; only once, since it may contain many files."""
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
    """Return whether the process that created an entry has ended; for another machine, whether a day has passed."""
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
