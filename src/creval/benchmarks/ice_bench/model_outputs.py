"""What a model's folder of ICE-Bench holds besides pictures: where each is, and what is not done.

`gen_info.json` is the authors' list, from an item's id to the path of its picture. A line of
`unsupported.txt` names a task that the model cannot do, or a group of tasks.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from pathlib import Path, PurePosixPath

from creval.benchmarks.ice_bench.tasks import find_tasks
from creval.core.benchmark import EditFile
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.filenames import parse_edit_filename
from creval.core.files import read_bytes, read_json, replace_lone_surrogates
from creval.core.sample import Sample

OUTPUT_LIST_FILE = "gen_info.json"
UNSUPPORTED_FILE = "unsupported.txt"


def read_model_outputs(folder: Path, samples: Sequence[Sample]) -> dict[str, Edit]:
    """What a folder says of the edits of these samples."""
    declared = {edit.key.sample: edit for edit in _read_unsupported(folder, samples)}
    listed = {edit.key.sample: edit for edit in _read_output_list(folder, samples)}
    for identity in declared.keys() & listed.keys():
        if listed[identity].image is not None:
            raise CrevalError(
                f"{folder / OUTPUT_LIST_FILE} names a picture of {identity!r}, and it is said to be "
                f"unsupported: {declared[identity].reason}. Take one of them away."
            )
    return listed | declared


def match_ice_edit_file(ids: Container[str], path: str) -> EditFile | None:
    """The item and the draw of a picture in a folder inside the model's.

    >>> match_ice_edit_file({"b9de"}, "images/b9de--2")
    EditFile(sample='b9de', draw=2, strategy='')
    """
    folder, _, stem = path.rpartition("/")
    return EditFile(*parse_edit_filename(stem, ids)) if folder else None


def _read_output_list(folder: Path, samples: Sequence[Sample]) -> Iterator[Edit]:
    path = folder / OUTPUT_LIST_FILE
    if not _is_present(path):
        return
    entries = read_json(path)
    if not isinstance(entries, dict):
        raise CrevalError(f"{path} should hold an object from items' ids to paths of pictures.")
    entries = {replace_lone_surrogates(identity): name for identity, name in entries.items()}
    if samples and entries and not any(sample.id in entries for sample in samples):
        raise CrevalError(
            f"{path} names none of the benchmark's items: it has {next(iter(entries))[:80]!r}, an "
            f"item is called {samples[0].id!r}."
        )
    for sample in samples:
        key = EditKey("", sample.id)
        if sample.id not in entries:
            yield Edit(key, EditStatus.ABSENT, reason=f"{OUTPUT_LIST_FILE} names no picture of it")
        elif image := _resolve_in_folder(folder, entries[sample.id]):
            yield Edit(key, EditStatus.DONE, image)
        else:
            named = replace_lone_surrogates(repr(entries[sample.id]))[:200]
            reason = f"{OUTPUT_LIST_FILE} names {named}, which is not in the folder"
            yield Edit(key, EditStatus.ABSENT, reason=reason)


def _is_present(path: Path) -> bool:
    """Whether there is such a file."""
    if path.exists() and not path.is_file():
        raise CrevalError(f"{path} should be a file.")
    return path.is_file()


def _resolve_in_folder(folder: Path, name: object) -> Path | None:
    """The image at the longest end of a path in the folder: authors write `results/METHOD/images/1.jpg`."""
    parts = PurePosixPath(name.replace("\\", "/")).parts if isinstance(name, str) else ()
    if ".." in parts:
        return None
    for at in range(len(parts)):
        path = folder.joinpath(*parts[at:])
        if path.is_relative_to(folder) and os.path.isfile(path):  # noqa: PTH113 (never raises)
            return path
    return None


def _read_unsupported(folder: Path, samples: Sequence[Sample]) -> Iterator[Edit]:
    path = folder / UNSUPPORTED_FILE
    if not _is_present(path):
        return
    reasons: dict[str, str] = {}
    for number, line in enumerate(read_bytes(path).decode("utf-8-sig", "replace").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        try:
            named = find_tasks(name)
        except CrevalError as error:
            raise CrevalError(f"{path}, line {number}: {error}") from error
        for task in named:
            reasons.setdefault(task.name, f"line {number} of {UNSUPPORTED_FILE}: {name}")
    for sample in samples:
        reason = reasons.get(sample.tags.get("task", ""))
        if reason is not None:
            yield Edit(EditKey("", sample.id), EditStatus.UNSUPPORTED, reason=reason)
