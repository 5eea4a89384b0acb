"""Digests of files by their content: whole for small ones, by samples for files of weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_STRIDE, _SAMPLE_BYTES, _TAIL_BYTES = 1 << 18, 1 << 12, 1 << 26  # bytes of a file of weights


def sampled_digest(file: Path) -> bytes:
    """Return a digest of some bytes of every stretch that a layer could be, and of the last 64 MB."""
    there = file.stat()
    return _sampled_digest(file.resolve(), there.st_size, there.st_mtime_ns)


def digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Return a digest of files: of their names as given, their sizes and their content."""
    found = hashlib.blake2b(digest_size=8)
    for name, file in files:
        found.update(f"{name}\x1f{file.stat().st_size}\x1e".encode("utf-8", "surrogateescape"))
        found.update(sampled_digest(file))
    return found.hexdigest()


@lru_cache(maxsize=1024)
def _sampled_digest(file: Path, size: int, modified_ns: int) -> bytes:  # noqa: ARG001 (tells files apart)
    found = hashlib.blake2b(digest_size=16)
    with file.open("rb", buffering=0) as content:
        for at in range(0, size - _TAIL_BYTES, _STRIDE):
            content.seek(at)
            found.update(content.read(_SAMPLE_BYTES))
        content.seek(max(0, size - _TAIL_BYTES))
        found.update(content.read(_TAIL_BYTES))
    return found.digest()
