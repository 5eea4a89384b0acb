"""Metadata files in a model's output folder for ICE-Bench: paths of images, and unsupported tasks.

`gen_info.json` is the authors' format, which maps an item's id to the path of its image. Each line of
`unsupported.txt` names a task, or a group of tasks, that the model does not support.
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
    """Return the edits of these samples that a folder's metadata declares, by sample."""
    declared = {edit.key.sample: edit for edit in _read_unsupported(folder, samples)}
    listed = {edit.key.sample: edit for edit in _read_output_list(folder, samples)}
    for identity in declared.keys() & listed.keys():
        if listed[identity].image is not None:
            raise CrevalError(
                f"{folder / OUTPUT_LIST_FILE} names an image of {identity!r}, but the sample is declared "
                f"unsupported: {declared[identity].reason}. Remove one of the entries."
            )
    return listed | declared


def match_ice_edit_file(ids: Container[str], path: str) -> EditFile | None:
    """Return the item and the draw of an image in a subfolder of the model's folder, or None.

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
        raise CrevalError(f"{path} must contain an object that maps item ids to image paths.")
    entries = {replace_lone_surrogates(identity): name for identity, name in entries.items()}
    if samples and entries and not any(sample.id in entries for sample in samples):
        raise CrevalError(
            f"{path} names no item of the benchmark: it contains {next(iter(entries))[:80]!r}, but items "
            f"of the benchmark have ids such as {samples[0].id!r}."
        )
    for sample in samples:
        key = EditKey("", sample.id)
        if sample.id not in entries:
            yield Edit(key, EditStatus.ABSENT, reason=f"{OUTPUT_LIST_FILE} names no image of it")
        elif image := _resolve_in_folder(folder, entries[sample.id]):
            yield Edit(key, EditStatus.DONE, image)
        else:
            named = replace_lone_surrogates(repr(entries[sample.id]))[:200]
            reason = f"{OUTPUT_LIST_FILE} names {named}, which is not in the folder"
            yield Edit(key, EditStatus.ABSENT, reason=reason)


def _is_present(path: Path) -> bool:
    """Return True if the file exists. Raises `CrevalError` if the path exists but is not a file."""
    if path.exists() and not path.is_file():
        raise CrevalError(f"{path} must be a file.")
    return path.is_file()


def _resolve_in_folder(folder: Path, name: object) -> Path | None:
    """Return the file in the folder that matches the longest ending of a path, or None.

    Authors write paths such as `results/METHOD/images/1.jpg`.
    """
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
