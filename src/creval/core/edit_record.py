"""A model's edits of a sample."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple


class EditKey(NamedTuple):
    """Which edit: `model` is a model, or a model with a strategy; `draw` a seed or candidate."""

    model: str
    sample: str
    draw: int = 0


class EditStatus(str, Enum):
    """Whether a model brought an image, and if not, why."""

    DONE = "done"
    ABSENT = "absent"  # it was edited, but the image is not here
    REFUSED = "refused"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    IMPOSSIBLE = "impossible"  # by the benchmark's fault: it lacks an image, or its id is no name

    def __str__(self) -> str:
        return self.value


class FileStamp(NamedTuple):
    """A file as it was when somebody looked: its content's digest, size, times in nanoseconds, and inode.

    Older versions stored neither inode nor the time when the inode changed.
    """

    digest: str
    size: int
    modified: int
    inode: int = 0
    changed: int = 0

    @classmethod
    def take(cls, path: Path, digest: str) -> FileStamp:
        """Return a file's stamp as it is now, with the digest of its content."""
        status = path.stat()
        return cls(digest, status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)

    def is_like(self, now: FileStamp) -> bool:
        """Return whether a file seems to be the same, without looking into it."""
        return self[1:] in (now[1:], (now.size, now.modified, 0, 0))


class Edit(NamedTuple):
    """A model's result for a sample: an image, or the reason why there is none.

    `parents` are the edits it was made from (the step before, the candidates it was picked from); `metadata` is what
    its editor knows about it (a plan, a scene graph). `judged_files` are the files that a judge has seen, by what
    they show. `ancestors` are the edits on the way to it, the first first: nobody is asked about them.
    """

    key: EditKey
    status: EditStatus = EditStatus.DONE
    image: Path | None = None
    reason: str = ""
    parents: tuple[EditKey, ...] = ()
    metadata: Mapping[str, Any] = MappingProxyType({})
    judged_files: Mapping[str, FileStamp] = MappingProxyType({})
    ancestors: tuple[Edit, ...] = ()
