"""Where the authors' released data is looked for, beside the project.

Tests and measurements that use it are skipped, or use made data, where it is absent.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

SHARED = Path(os.environ.get("CREVAL_SHARED") or Path(__file__).parents[2] / "shared")


def unpacked(*archives: str) -> Path | None:
    """A folder with these archives of `data/` unpacked together, or none where one is absent.

    It is made once and kept among the temporary files, so that every test process finds it.
    """
    paths = [SHARED / "data" / name for name in archives]
    if not all(path.is_file() for path in paths):
        return None
    stamp = "-".join(f"{path.name}-{path.stat().st_size}" for path in paths)
    folder = Path(tempfile.gettempdir()) / "creval-shared" / stamp
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    for path in paths:
        with tarfile.open(path) as archive:
            archive.extractall(fresh, filter="data")
    try:
        fresh.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(fresh)
    return folder


def creval_release() -> Path | None:
    """CREval's release with its recorded answers, as its authors lay it out."""
    folder = unpacked("creval-release.tar.xz")
    return folder / "CREval" if folder else None


def creval_images() -> list[Path]:
    """Some of the release's source images."""
    folder = unpacked("creval-images.tar")
    return sorted((folder / "CREval" / "bench" / "image").iterdir()) if folder else []


def viescore_editing() -> Path | None:
    """People's ratings of editing models, and three judges' recorded VIEScore answers."""
    folder = unpacked("viescore-editing.tar.xz")
    return folder / "viescore" if folder else None
