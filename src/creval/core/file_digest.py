"""Content digests of files. Small files are hashed completely. Of large files, such as weights, only samples are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_STRIDE, _SAMPLE_BYTES, _TAIL_BYTES = 1 << 18, 1 << 12, 1 << 26  # bytes


def sampled_digest(file: Path) -> bytes:
    """Return a digest of 4 KiB of each 256 KiB of a file, and of its last 64 MiB.

    The stride is short enough to sample each layer of a model's weights.
    """
    status = file.stat()
    return _sampled_digest(file.resolve(), status.st_size, status.st_mtime_ns)


def digest_files(files: Iterable[tuple[str, Path]]) -> str:
    """Return a digest of the names (as given), sizes and content of files."""
    found = hashlib.blake2b(digest_size=8)
    for name, file in files:
        found.update(f"{name}\x1f{file.stat().st_size}\x1e".encode("utf-8", "surrogateescape"))
        found.update(sampled_digest(file))
    return found.hexdigest()


@lru_cache(maxsize=1024)
def _sampled_digest(file: Path, size: int, modified_ns: int) -> bytes:  # noqa: ARG001 (part of the cache key)
    found = hashlib.blake2b(digest_size=16)
    with file.open("rb", buffering=0) as content:
        for at in range(0, size - _TAIL_BYTES, _STRIDE):
            content.seek(at)
            found.update(content.read(_SAMPLE_BYTES))
        content.seek(max(0, size - _TAIL_BYTES))
        found.update(content.read(_TAIL_BYTES))
    return found.digest()
