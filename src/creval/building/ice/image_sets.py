"""Sets of images that belong together, and the tasks that their folders name.

`NAME_mask.png` and `NAME_ref1.png` belong to `NAME.png` (or `NAME_src.png`). A folder with the name of a task, or of a
group or category of tasks, contains images for these tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from creval.benchmarks.ice_bench.tasks import Task, find_tasks
from creval.building.image_files import list_image_names
from creval.core.errors import CrevalError

_PART = re.compile(r"(.+)[-_.](src|mask|ref0*([1-9][0-9]?)?)", re.IGNORECASE)


class ImageSet(NamedTuple):
    """Images that belong together: the image to edit, its mask, and its references."""

    image: Path | None
    mask: Path | None = None
    references: tuple[Path, ...] = ()

    @property
    def main_image(self) -> Path | None:
        """The image to edit, or else the first reference."""
        return self.image or next(iter(self.references), None)

    def list_paths(self) -> list[Path]:
        found = (self.image, self.mask, *self.references)
        return [path for path in found if path is not None]


def find_image_sets(folder: Path, out: Path) -> tuple[dict[str, ImageSet], dict[str, str]]:
    """Return a folder's image sets by the name of their main image, and for each image without a set the reason."""
    main: dict[str, list[str]] = {}
    parts: dict[str, dict[str, str]] = {}
    lost: dict[str, str] = {}
    for name in list_image_names(folder, out):
        path = PurePosixPath(name)
        match = _PART.fullmatch(path.stem)
        stem = (path.parent / (match[1] if match else path.stem)).as_posix()
        if match is None or match[2].lower() == "src":
            main.setdefault(stem, []).append(name)
            continue
        kind = "mask" if match[2].lower() == "mask" else f"ref{match[3] or 1}"
        if parts.setdefault(stem, {}).setdefault(kind, name) != name:
            lost[name] = f"{parts[stem][kind]} already is the {kind} of its image"
    found = {}
    for stem in {*main, *parts}:
        names, of = main.get(stem, []), parts.get(stem, {})
        ambiguous = len(names) > 1  # the parts could belong to any of them
        if ambiguous or (not names and not of.keys() - {"mask"}):
            why = f"it could belong to {' or to '.join(names)}" if ambiguous else "its image does not exist"
            lost |= dict.fromkeys(of.values(), why)
        mine = {} if ambiguous else {kind: folder / name for kind, name in of.items()}
        references = sorted(mine.keys() - {"mask"}, key=lambda kind: int(kind[3:]))
        for name in names or [of[kind] for kind in references[:1]]:
            found[relative_name(folder, folder / name)] = ImageSet(
                folder / name if names else None, mine.get("mask"), tuple(mine[kind] for kind in references)
            )
    return dict(sorted(found.items())), lost


def relative_name(folder: Path, path: Path) -> str:
    """Return an image's name: its path relative to the folder. Bytes that are not valid Unicode are escaped."""
    name = path.relative_to(folder).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def tasks_from_folder(name: str) -> tuple[Task, ...]:
    """Return the tasks named by an image's innermost folder whose name is a task or a group of tasks, or ().

    A folder name without letters is never read as a task number, because it may be a date.
    """
    for part in reversed(name.split("/")[:-1]):
        if any(map(str.isalpha, part)):
            try:
                return find_tasks(part)
            except CrevalError:
                continue
    return ()


def find_folders_without_task(names: Iterable[str]) -> Sequence[str]:
    """Return folders that name no task although a folder next to them does. They may be misspelt."""
    folders = {folder for name in names for folder in PurePosixPath(name).parents[:-1]}
    known = {folder: tasks_from_folder(f"{folder.name}/") for folder in folders}
    beside = {folder.parent for folder, tasks in known.items() if tasks}
    return sorted(
        one.as_posix()
        for one, tasks in known.items()
        if not tasks and one.parent in beside and not any(len(known.get(above, ())) == 1 for above in one.parents)
    )
