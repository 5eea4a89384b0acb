"""Which images in a folder belong together, and which tasks their folders name.

`NAME_mask.png` and `NAME_ref1.png` belong to `NAME.png` (or `NAME_src.png`). A folder that is called like a task, a
group or a category holds images for that.
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
    """Images that belong together: the main one, where to edit it, and what to refer to."""

    image: Path | None
    mask: Path | None = None
    references: tuple[Path, ...] = ()

    @property
    def main_image(self) -> Path | None:
        """The image that stands for all of them."""
        return self.image or next(iter(self.references), None)

    def list_paths(self) -> list[Path]:
        found = (self.image, self.mask, *self.references)
        return [path for path in found if path is not None]


def find_image_sets(folder: Path, out: Path) -> tuple[dict[str, ImageSet], dict[str, str]]:
    """Return the images that belong together, by the name of the first; and why others belong to none."""
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
            lost[name] = f"{parts[stem][kind]} is the same to its picture"
    found = {}
    for stem in {*main, *parts}:
        names, of = main.get(stem, []), parts.get(stem, {})
        alone = len(names) > 1  # whose the parts are cannot be told
        if alone or (not names and not of.keys() - {"mask"}):
            why = f"it belongs to {' or to '.join(names)}" if alone else "its picture is not there"
            lost |= dict.fromkeys(of.values(), why)
        mine = {} if alone else {kind: folder / name for kind, name in of.items()}
        references = sorted(mine.keys() - {"mask"}, key=lambda kind: int(kind[3:]))
        for name in names or [of[kind] for kind in references[:1]]:
            found[relative_name(folder, folder / name)] = ImageSet(
                folder / name if names else None, mine.get("mask"), tuple(mine[kind] for kind in references)
            )
    return dict(sorted(found.items())), lost


def relative_name(folder: Path, path: Path) -> str:
    """Return an image's name: its path from the folder, however that is spelt. What is no character in it is spelt out,
    so that the name can be kept, and two names stay two."""
    name = path.relative_to(folder).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def tasks_from_folder(name: str) -> tuple[Task, ...]:
    """Return the tasks that a folder in a path names, the innermost that does; none where none does. Numbers alone may
    be days or places."""
    for part in reversed(name.split("/")[:-1]):
        if any(map(str.isalpha, part)):
            try:
                return find_tasks(part)
            except CrevalError:
                continue
    return ()


def find_folders_without_task(names: Iterable[str]) -> Sequence[str]:
    """Return folders that name no task, beside others that do: perhaps they are misspelt."""
    folders = {folder for name in names for folder in PurePosixPath(name).parents[:-1]}
    known = {folder: tasks_from_folder(f"{folder.name}/") for folder in folders}
    beside = {folder.parent for folder, tasks in known.items() if tasks}
    return sorted(
        one.as_posix()
        for one, tasks in known.items()
        if not tasks and one.parent in beside and not any(len(known.get(above, ())) == 1 for above in one.parents)
    )
