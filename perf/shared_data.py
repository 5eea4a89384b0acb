"""The authors' released data, in a folder beside the project.

If it is missing, tests and measurements that use it are skipped, or use generated data.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

SHARED = Path(os.environ.get("CREVAL_SHARED") or Path(__file__).parents[2] / "shared")


def unpacked(*archives: str) -> Path | None:
    """Return a folder with these archives of `data/` unpacked together, or None if one is missing.

    It is created once in the temporary directory and shared by all test processes.
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
    except OSError:  # another process was faster
        shutil.rmtree(fresh)
    return folder


def creval_release() -> Path | None:
    """Return CREval's release with its recorded answers, in the authors' layout."""
    folder = unpacked("creval-release.tar.xz")
    return folder / "CREval" if folder else None


def creval_images() -> list[Path]:
    """Return some of the release's source images."""
    folder = unpacked("creval-images.tar")
    return sorted((folder / "CREval" / "bench" / "image").iterdir()) if folder else []


def viescore_editing() -> Path | None:
    """Return human ratings of editing models, and recorded VIEScore answers of three judges."""
    folder = unpacked("viescore-editing.tar.xz")
    return folder / "viescore" if folder else None
