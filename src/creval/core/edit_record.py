"""Records of a model's edits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple


class EditKey(NamedTuple):
    """Identity of an edit. `model` may include a strategy; `draw` is the number of a seed or candidate."""

    model: str
    sample: str
    draw: int = 0


class EditStatus(str, Enum):
    """Outcome of an edit: `done` if there is an image, otherwise why the image is missing."""

    DONE = "done"
    ABSENT = "absent"  # the image was not found
    REFUSED = "refused"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    IMPOSSIBLE = "impossible"  # the benchmark is at fault: an image is missing, or the id is not a valid file name

    def __str__(self) -> str:
        return self.value


class FileStamp(NamedTuple):
    """Content digest and state of a file: size, times in nanoseconds, and inode.

    Older versions stored neither `inode` nor `changed` (the time of the inode's last change).
    """

    digest: str
    size: int
    modified: int
    inode: int = 0
    changed: int = 0

    @classmethod
    def take(cls, path: Path, digest: str) -> FileStamp:
        """Return a file's current stamp; `digest` is the digest of its content."""
        status = path.stat()
        return cls(digest, status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)

    def is_like(self, now: FileStamp) -> bool:
        """Return whether a file seems unchanged: whether all but the digests of the two stamps agree."""
        return self[1:] in (now[1:], (now.size, now.modified, 0, 0))


class Edit(NamedTuple):
    """A model's result for a sample: an image, or the reason why it is missing.

    - `parents`: edits that this one was derived from (the previous step, the candidates it was picked from).
    - `metadata`: additional output of the editor, such as a plan or a scene graph.
    - `judged_files`: stamps of the image files that a judge was shown. A key names the role (`source`, `edit` ...) and
      the file.
    - `ancestors`: all intermediate edits, oldest first. They are not judged.
    """

    key: EditKey
    status: EditStatus = EditStatus.DONE
    image: Path | None = None
    reason: str = ""
    parents: tuple[EditKey, ...] = ()
    metadata: Mapping[str, Any] = MappingProxyType({})
    judged_files: Mapping[str, FileStamp] = MappingProxyType({})
    ancestors: tuple[Edit, ...] = ()
