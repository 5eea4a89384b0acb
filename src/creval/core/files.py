"""Fast reading of many files, atomic writing, and JSON."""

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
"""Default size limit of a file that is read."""
MAX_JSON_BYTES = 64 << 20
"""Size limit of a JSON file. Its content can take twenty times as much memory."""
_CHUNK_BYTES = 1 << 16
# O_NONBLOCK: do not wait for the writer of a pipe. O_NOCTTY: do not take over a terminal.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_BINARY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
_FILE_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_LONG_NUMBER = re.compile(r"[0-9]{300}|[0-9][eE]\+?[0-9]{3}")


def read_bytes(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's content. For small files, this is twice as fast as `open`.

    Raises `OSError` before reading if the path is not a regular file of at most `max_bytes`.
    """
    descriptor, size = _open_regular(path, max_bytes)
    try:
        parts = [os.read(descriptor, size or _CHUNK_BYTES)]
        total = len(parts[0])
        # The first read usually returns the whole file. The second one only confirms the end.
        while more := os.read(descriptor, max(size - total, 16 if size else _CHUNK_BYTES)):
            parts.append(more)
            total += len(more)
            if total > max_bytes:
                raise _too_large(path, max_bytes)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def open_file(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> BinaryIO:
    """Open a file for reading; raises `OSError` if it is not a regular file of at most `max_bytes`."""
    return os.fdopen(_open_regular(path, max_bytes)[0], "rb")


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8", max_bytes: int = MAX_JSON_BYTES) -> str:
    """Return a file's text."""
    with io.TextIOWrapper(open_file(path, max_bytes), encoding) as file:
        return file.read()


def is_file(path: str | os.PathLike[str] | None) -> bool:
    """Return whether a file exists; False for an invalid file name."""
    return path is not None and os.path.isfile(path)  # noqa: PTH113 (pathlib's raises for long names)


def _open_regular(path: str | os.PathLike[str], max_bytes: int) -> tuple[int, int]:
    """Open a regular file; return its descriptor and size."""
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
            kind = _FILE_KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
            raise OSError(errno.EINVAL, f"it is {kind}, not a file", os.fspath(path))
        if status.st_size > max_bytes:
            raise _too_large(path, max_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def _too_large(path: str | os.PathLike[str], max_bytes: int) -> OSError:
    size = f"{max_bytes >> 20} MB" if max_bytes >= 1 << 20 else f"{max_bytes:,} bytes"
    return OSError(errno.EFBIG, f"it is larger than {size}, the limit for such a file", os.fspath(path))


def atomic_write(path: Path, content: str | bytes) -> int:
    """Write a file atomically, and return its size in bytes."""
    content = content.encode("utf-8") if isinstance(content, str) else content
    with atomic_path(path) as new, new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return len(content)


def atomic_copy(source: Path, path: Path) -> None:
    """Copy a file atomically."""
    with atomic_path(path) as new, open_file(source) as file, new.open("wb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of files to the disk, if the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # unsupported by some network drives
            raise
    finally:
        os.close(descriptor)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path for a file's content, and move it to `path` on success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = temporary_path(path.parent)
    try:
        yield new
        new.replace(path)
    except OSError as error:
        error.filename = error.filename or os.fspath(path)  # the error for a full disk has none
        raise
    finally:
        new.unlink(missing_ok=True)


def format_json(content: object) -> str:
    """Return indented JSON, which is readable and suits line-based diffs."""
    return replace_lone_surrogates(json.dumps(content, ensure_ascii=False, indent=2)) + "\n"


def write_json(path: Path, content: object) -> None:
    """Write indented JSON atomically."""
    atomic_write(path, format_json(content))


def replace_lone_surrogates(text: str) -> str:
    """Return text that can be encoded as UTF-8: each lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def file_signature(path: Path) -> object:
    """Return a value that changes when a file is rewritten; None if the file does not exist."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size


def list_files(folder: Path) -> list[str]:
    """Return the paths of all files in a folder and its subfolders, with forward slashes, without hidden ones."""
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(where).relative_to(folder)
        found += [(inside / name).as_posix() for name in names if not name.startswith(".")]
    return sorted(found)


@contextmanager
def gc_frozen() -> Iterator[None]:
    """Exclude all existing objects from garbage collection meanwhile. An open benchmark has about 100,000 objects."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection, which takes a tenth of the time when many objects are created."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_json(path: str | Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the JSON in a file; raises `CrevalError` if it cannot be read or parsed."""
    try:
        return parse_json(read_bytes(path, max_bytes))
    except OSError as error:
        raise CrevalError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CrevalError(f"{path} is not valid JSON: {error}.") from error


def parse_json(content: bytes | str) -> Any:
    """Return the parsed JSON. Raises `ValueError` if it is invalid or has a number beyond the range of a float."""
    if isinstance(content, bytes):
        content = content.decode(json.detect_encoding(content), "surrogatepass")
    if _LONG_NUMBER.search(content):  # otherwise the faster number parser is safe
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
    """Return whether a file has a suffix of JSON Lines."""
    return Path(path).suffix.casefold() in (".jsonl", ".ndjson")


def read_json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line numbers and objects of a JSONL file; raises `CrevalError` for a line that is not an object."""
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
            raise CrevalError(f"{path}, line {number}, is not a JSON object.")
        yield number, found


def coerce_text(value: object) -> str:
    """Return a JSON field as text if it is a string or a finite number, otherwise ""."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def clean_text(value: object) -> str:
    """Return a JSON field as text that can be stored, without surrounding white space."""
    return replace_lone_surrogates(coerce_text(value)).strip()


def dig(value: object, *path: str | int) -> Any:
    """Return the value at a path in untrusted JSON, or None if the path does not exist.

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
    """Return whether a reviewer has marked this entry of a built benchmark as dropped."""
    return isinstance(entry, dict) and entry.get("dropped") is True


def filename_stem(name: str) -> str:
    """Return the stem of a path with forward or backward slashes."""
    return replace_lone_surrogates(PurePosixPath(name.replace("\\", "/")).stem)
