"""Address of a benchmark's official release, and its conversion into the layout that creval reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

HUB, GITHUB = "Hugging Face dataset", "GitHub repository"
ADDRESSES = {HUB: "https://huggingface.co/datasets/", GITHUB: "https://github.com/"}


@dataclass(frozen=True)
class ReleaseSource:
    """A repository with a release.

    - `revisions`: commits or branches. The first one that has the files is used; a branch is resolved to a commit.
    - `files`: patterns of the paths to download. `*` also matches slashes.
    - `moved`: new names of the repository's folders, by their old name.
    - `archives`: patterns of downloaded zip files that are unpacked where they are.
    - `sha256`: known checksums, by path in the repository.
    - `license`, `size`: as stated by the authors; `unknown` if they are not known.
    - `layout`: the files that creval reads.
    - `contents`: what to download by hand if creval cannot reach the server, with its place in the folder.
    - `also`: what the release also needs but creval does not download, with its place in the folder.
    """

    kind: str
    repository: str
    files: tuple[str, ...]
    layout: str
    revisions: tuple[str, ...] = ("main",)
    moved: Mapping[str, str] = field(default_factory=dict)
    archives: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    license: str = "unknown"
    size: str = "unknown"
    contents: str = ""
    also: str = ""

    @property
    def address(self) -> str:
        """URL of the repository's page."""
        return ADDRESSES[self.kind] + self.repository

    def local_path(self, path: str) -> str | None:
        """Return where a file of the repository belongs in the folder, or None if it is not needed.

        >>> source = ReleaseSource(HUB, "a/b", ("Bench/*",), "", moved={"Bench": "bench"})
        >>> source.local_path("Bench/image/1.png"), source.local_path("README.md")
        ('bench/image/1.png', None)
        """
        if not any(fnmatchcase(path, pattern) for pattern in self.files):
            return None
        for old, new in self.moved.items():
            if path.startswith(f"{old}/"):
                return f"{new}/{path[len(old) + 1 :]}"
        return path

    def is_archive(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.archives)
