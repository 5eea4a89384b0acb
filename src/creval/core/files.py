"""Reading files, of which a benchmark or a recording has tens of thousands; writing one whole."""

from __future__ import annotations

import errno
import gc
import io
import json
import math
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from creval.core.errors import CrevalError
from creval.core.temporary import temporary_path

MAX_FILE_BYTES = 256 << 20
"""The bytes of a file that is read, if its reader sets no other limit."""
MAX_JSON_BYTES = 64 << 20
"""The bytes of a JSON file; in memory its content can take twenty times as many."""
_CHUNK_BYTES = 1 << 16
# A pipe is not waited for, and a terminal is not taken over.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_BINARY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
_FILE_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_LONG_NUMBER = re.compile(r"[0-9]{300}|[0-9][eE]\+?[0-9]{3}")


def read_bytes(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's content; for a small file in half the time that `open` takes.

    What is not a regular file of at most `max_bytes` is an `OSError`, before it is read.
    """
    descriptor, size = _open_regular(path, max_bytes)
    try:
        parts = [os.read(descriptor, size or _CHUNK_BYTES)]
        total = len(parts[0])
        # The first read mostly brings the whole file; only its end is still to be seen.
        while more := os.read(descriptor, max(size - total, 16 if size else _CHUNK_BYTES)):
            parts.append(more)
            total += len(more)
            if total > max_bytes:
                raise _too_large(path, max_bytes)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def open_file(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> BinaryIO:
    """Open a file to read it; what is not a regular file of at most `max_bytes` is an `OSError`."""
    return os.fdopen(_open_regular(path, max_bytes)[0], "rb")


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8", max_bytes: int = MAX_JSON_BYTES) -> str:
    """Return the text in a file."""
    with io.TextIOWrapper(open_file(path, max_bytes), encoding) as file:
        return file.read()


def is_file(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a file is there; False for a name that no file can have."""
    return path is not None and os.path.isfile(path)  # noqa: PTH113 (pathlib's raises for long names)


def _open_regular(path: str | os.PathLike[str], max_bytes: int) -> tuple[int, int]:
    """Return a descriptor of a regular file, and its size."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):  # sockets cannot be opened at all
            raise OSError(errno.EINVAL, "it is a socket or a device, not a file", os.fspath(path)) from error
        raise
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            kind = _FILE_KINDS.get(stat.S_IFMT(status.st_mode), "something else")
            raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))
        if status.st_size > max_bytes:
            raise _too_large(path, max_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def _too_large(path: str | os.PathLike[str], max_bytes: int) -> OSError:
    size = f"{max_bytes >> 20} MB" if max_bytes >= 1 << 20 else f"{max_bytes:,} bytes"
    return OSError(errno.EFBIG, f"it has more than {size}, the limit for such a file", os.fspath(path))


def atomic_write(path: Path, content: str | bytes) -> int:
    """Write a file so that it is there as a whole or not at all; how many bytes it has."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    with atomic_path(path) as new, new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return len(content)


def atomic_copy(source: Path, path: Path) -> None:
    """Copy a file so that it is there as a whole or not at all."""
    with atomic_path(path) as new, open_file(source) as file, new.open("wb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)


def sync_folder(folder: Path) -> None:
    """Wait until the names of the files in a folder are on the disk, where the system can say so."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives cannot
            raise
    finally:
        os.close(descriptor)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Where to put a file's content first; it is in its place when that has gone well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = temporary_path(path.parent)
    try:
        yield new
        new.replace(path)
    except OSError as error:
        error.filename = error.filename or os.fspath(path)  # a full disk is said without one
        raise
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
    return found.st_ino, found.st_ctime_ns, found.st_mtime_ns, found.st_size


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


def read_json(path: str | Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the JSON in a file; what is wrong with it becomes a sentence."""
    try:
        return parse_json(read_bytes(path, max_bytes))
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CrevalError(f"{path} is not valid JSON: {error}.") from error


def parse_json(content: bytes | str) -> Any:
    """Return the JSON in a text; `ValueError` also where a number is larger than a float can be."""
    if isinstance(content, bytes):
        content = content.decode(json.detect_encoding(content), "surrogatepass")
    if _LONG_NUMBER.search(content):  # else the faster parser of numbers will do
        return json.loads(content, parse_int=_parse_int, parse_float=_parse_float)
    return json.loads(content)


def _parse_int(digits: str) -> int:
    _parse_float(digits)
    return int(digits)


def _parse_float(digits: str) -> float:
    if math.isinf(float(digits)):
        raise ValueError(f"the number {digits[:12]}{'...' * (len(digits) > 12)} is too large")
    return float(digits)


def is_json_lines(path: str | Path) -> bool:
    """Return whether a file's name says that it holds a JSON object a line."""
    return Path(path).suffix.casefold() in (".jsonl", ".ndjson")


def read_json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSONL file with their lines; what is no object becomes a sentence."""
    try:
        lines = read_bytes(path, MAX_JSON_BYTES).removeprefix(b"\xef\xbb\xbf").splitlines()
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise CrevalError(f"{path}, line {number}, is not valid JSON: {error}.") from error
        if not isinstance(found, dict):
            raise CrevalError(f"{path}, line {number}, is no JSON object.")
        yield number, found


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
