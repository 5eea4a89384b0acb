"""Reading files, of which a benchmark or a recording has tens of thousands; writing one whole."""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from creval.core.errors import CrevalError

_CHUNK_BYTES = 1 << 16
_MAX_DIGITS = 300  # digits of a whole number
# A pipe under a file's name is not waited for.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return a file's content; for a small file in half the time that `open` takes."""
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        parts = [os.read(descriptor, _CHUNK_BYTES)]
        # A short read is mostly the whole file; only its end is still to be seen.
        size = _CHUNK_BYTES if len(parts[0]) == _CHUNK_BYTES else 16
        while more := os.read(descriptor, size):
            parts.append(more)
            size = _CHUNK_BYTES
    finally:
        os.close(descriptor)
    return b"".join(parts)


def atomic_write(path: Path, content: str | bytes) -> int:
    """Write a file so that it is there as a whole or not at all; how many bytes it has."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    with _atomic_path(path) as new, new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return len(content)


def atomic_copy(source: Path, path: Path) -> None:
    """Copy a file so that it is there as a whole or not at all."""
    with _atomic_path(path) as new:
        shutil.copyfile(source, new)


@contextmanager
def _atomic_path(path: Path) -> Iterator[Path]:
    """Where to put a file's content first; it is in its place when that has gone well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def format_json(content: object) -> str:
    """JSON that people can read, and that a comparison of lines can tell apart."""
    return replace_lone_surrogates(json.dumps(content, ensure_ascii=False, indent=2)) + "\n"


def write_json(path: Path, content: object) -> None:
    """Write such JSON, as a whole or not at all."""
    atomic_write(path, format_json(content))


def replace_lone_surrogates(text: str) -> str:
    """Text that can be kept: what is no character (a lone surrogate) becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def file_signature(path: Path) -> object:
    """Return what changes when a file is written again; nothing where there is none."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def list_files(folder: Path) -> list[str]:
    """Return the files in a folder and in those inside, by their paths with forward slashes; none that is hidden."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(where).relative_to(folder)
        found += [(inside / name).as_posix() for name in names if not name.startswith(".")]
    return sorted(found)


@contextmanager
def gc_frozen() -> Iterator[None]:
    """Leave what is in memory now out of the search for cycles: a benchmark has 100,000 objects."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the search for reference cycles, which costs a tenth where many objects are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def parse_json(content: str | bytes) -> Any:
    """Return the JSON in a text that others wrote. A number that no float can hold is a `ValueError`."""
    return json.loads(content, parse_int=_parse_int)


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits; at most {_MAX_DIGITS} are allowed")
    return int(digits)


def read_json(path: str | Path) -> Any:
    """Return the JSON in a file; what is wrong with it becomes a sentence."""
    try:
        return parse_json(read_bytes(path))
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CrevalError(f"{path} is not valid JSON: {error}.") from error


def coerce_text(value: object) -> str:
    """Return a field that should be text, as text: a number is one too; a list or an object is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def clean_text(value: object) -> str:
    """Return a field as text that can be kept, without blanks around it."""
    return replace_lone_surrogates(coerce_text(value)).strip()


def dig(value: object, *path: str | int) -> Any:
    """Return what stands at a place in JSON that others wrote, or None if there is no such place.

    >>> dig({"choices": [{"text": "yes"}]}, "choices", 0, "text")
    'yes'
    """
    for step in path:
        known = isinstance(value, dict if isinstance(step, str) else list)
        try:
            value = value[step] if known else None  # type: ignore[index]
        except LookupError:
            return None
    return value


def is_dropped(entry: object) -> bool:
    """Return whether somebody has taken an entry out that was built."""
    return isinstance(entry, dict) and entry.get("dropped") is True


def filename_stem(name: str) -> str:
    """Return a file name's stem, in a path with forward or backward slashes."""
    return replace_lone_surrogates(PurePosixPath(name.replace("\\", "/")).stem)
