"""Unpacks untrusted zip files: nothing outside the folder, no links, and limits on sizes."""

from __future__ import annotations

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from creval.core.errors import CrevalError
from creval.core.formatting import format_bytes
from creval.core.temporary import temporary_path
from creval.downloads.safe_paths import safe_target

MAX_UNPACKED_BYTES = 100 << 30
MAX_UNPACKED_FILES = 200_000
_ENCRYPTED = 0x1
_LEFT_OUT = ("__MACOSX/",)  # what macOS adds to archives


class UnpackedFile(NamedTuple):
    """A file from an archive: its path in the folder, size, and SHA-256."""

    path: str
    size: int
    sha256: str


def unpack(
    archive: Path, folder: Path, place: Callable[[str], str | None], *, max_bytes: int = MAX_UNPACKED_BYTES
) -> Iterator[UnpackedFile]:
    """Unpack the files of a zip file into a folder, and yield each.

    `place` returns where a file of the archive belongs in the folder, or None to leave it out. Raises `CrevalError` if
    a file already exists with different content, or if the archive is not safe to unpack.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = list(_wanted(archive, opened, place, max_bytes))
            for member, path in members:
                target = safe_target(folder, path)
                with opened.open(member) as content:
                    yield _write(content, target, path, member.file_size)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise CrevalError(f"{archive.name} is not a zip file that can be unpacked: {error}.") from error


def _wanted(
    archive: Path, opened: zipfile.ZipFile, place: Callable[[str], str | None], max_bytes: int
) -> Iterator[tuple[zipfile.ZipInfo, str]]:
    """Yield the files to unpack with their paths. The caller checks all of them before it writes the first."""
    members = opened.infolist()
    if len(members) > MAX_UNPACKED_FILES:
        raise CrevalError(f"{archive.name} has more than {MAX_UNPACKED_FILES:,} files.")
    total, seen = 0, set[str]()
    for member in members:
        path = None if member.is_dir() or member.filename.startswith(_LEFT_OUT) else place(member.filename)
        if path is None:
            continue
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise CrevalError(f"{archive.name} contains a link or a device, {path[:200]!r}. It is not unpacked.")
        if member.flag_bits & _ENCRYPTED:
            raise CrevalError(f"{archive.name} is encrypted.")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CrevalError(f"{archive.name} is compressed in a way that is not supported.")
        if path in seen:
            raise CrevalError(f"{archive.name} contains {path[:200]!r} twice.")
        safe_target(Path(), path)
        seen.add(path)
        total += member.file_size
        if total > max_bytes:
            raise CrevalError(f"{archive.name} unpacks to more than {format_bytes(max_bytes)}.")
        yield member, path


def _write(content: IO[bytes], target: Path, path: str, size: int) -> UnpackedFile:
    target.parent.mkdir(parents=True, exist_ok=True)
    new, digest, written = temporary_path(target.parent), hashlib.sha256(), 0
    try:
        with new.open("wb") as out:
            while chunk := content.read(1 << 20):
                written += len(chunk)
                if written > size:
                    raise CrevalError(f"{path} is larger than its archive states.")
                digest.update(chunk)
                out.write(chunk)
        found = UnpackedFile(path, written, digest.hexdigest())
        if target.exists() and file_sha256(target) != found.sha256:
            raise CrevalError(f"{target} exists with different content. Move it, or give another `out`.")
        new.replace(target)
        return found
    finally:
        new.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
