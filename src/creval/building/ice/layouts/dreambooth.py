"""DreamBooth's dataset: a folder of photographs for each subject.

The photographs become references for the task of creating an image of the subject.
"""

from __future__ import annotations

from pathlib import Path

from creval.building.ice.layouts.base import ImportedSet, ImportedSets
from creval.building.image_files import find_image_names
from creval.core.errors import CrevalError

_MAX_REFERENCES = 99


def read_dreambooth(folder: Path, annotations: Path | None) -> ImportedSets:
    """Return a set for each subject: its photographs, sorted by name, as references."""
    if annotations is not None:
        raise CrevalError("`annotations` is for COCO and VITON-HD.")
    root = folder / "dataset" if (folder / "dataset").is_dir() else folder
    subjects: dict[str, list[Path]] = {}
    left_out = dict[str, str]()
    for name in find_image_names(root):
        subject, slash, _ = name.partition("/")
        if slash:
            subjects.setdefault(subject, []).append(root / name)
        else:
            left_out[name] = "it is in no subject's folder"
    sets = []
    for subject, images in sorted(subjects.items()):
        references = tuple(sorted(images)[:_MAX_REFERENCES])
        sets.append(ImportedSet(subject, "Subject Reference Creating", references=references, origin=subject))
    return ImportedSets(sets, left_out)
