"""Files of a built CREval benchmark. People can edit them and keep them under version control.

`build.json` stores a digest of everything that was written. Files and entries with another digest were changed by
people and are not overwritten. Samples that a review drops are moved to `dropped/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASS_DIMENSIONS, METRICS
from creval.building.build_manifest import read_build_record
from creval.building.creval.pipeline import SampleDraft
from creval.building.creval.question_set import KeptQuestion
from creval.building.creval.sources import SourceImage
from creval.building.image_files import write_error_reason
from creval.core.errors import CrevalError
from creval.core.files import (
    atomic_copy,
    atomic_write,
    filename_stem,
    format_json,
    read_json,
    replace_lone_surrogates,
    write_json,
)
from creval.core.images import ImageError, file_digest, read_image_size
from creval.store.lock import file_lock

SAMPLE_LIST = "instruction.json"
DROPPED = "dropped"
QUESTIONS_KEY = "quality_check_questions"


class WriteResult(NamedTuple):
    """Result of writing a benchmark.

    - `user_edited`: files and entries that were not overwritten because people have changed them.
    - `failures`: samples whose files could not be written, with the reason.
    - `written`: digests of everything that was ever written.
    """

    user_edited: list[str]
    failures: dict[str, str]
    written: dict[str, str]


def write_creval_benchmark(
    root: Path, drafts: Mapping[str, SampleDraft], sources: Mapping[str, SourceImage]
) -> WriteResult:
    """Write samples, questions and images, except those that people have changed."""
    result = WriteResult([], {}, read_build_record(root).get("written", {}))
    existing = {entry_sample_id(entry) for entry in read_sample_list(root / SAMPLE_LIST)}
    entries = {}
    for identity in sorted(drafts):  # outside of the lock, since copying images takes long
        if identity in existing or _entry_key(identity) not in result.written:
            with _record_write_errors(identity, result):
                entries[identity] = _build_entry(drafts[identity], sources[identity])
                image = f"image/{sources[identity].name}"
                if _needs_writing(root, image, file_digest(sources[identity].path), result):
                    atomic_copy(sources[identity].path, root / image)
    with file_lock(root):
        _write_texts(root, drafts, entries, result)
    return result


def _write_texts(
    root: Path, drafts: Mapping[str, SampleDraft], entries: Mapping[str, Mapping[str, Any]], result: WriteResult
) -> None:
    """Write the list of samples, and the questions of samples whose images were written."""
    listed: dict[str, Mapping[str, Any]]
    listed = {entry_sample_id(entry): entry for entry in read_sample_list(root / SAMPLE_LIST)}
    for identity in sorted(drafts):
        name = _entry_key(identity)
        if identity not in listed and name in result.written:
            result.user_edited.append(f"{identity}, which was removed from {SAMPLE_LIST}")
        elif identity in entries and identity not in result.failures:
            with _record_write_errors(identity, result):
                for metric in METRICS:
                    path = f"questions_all/{metric}/{identity}.json"
                    text = format_json(build_questions_json(drafts[identity].questions[metric]))
                    if _needs_writing(root, path, hashlib.sha256(text.encode()).hexdigest(), result):
                        atomic_write(root / path, text)
                new_digest = _entry_digest(entries[identity])
                current_digest = _entry_digest(listed[identity]) if identity in listed else None
                if current_digest in (None, new_digest, result.written.get(name)):
                    listed[identity], result.written[name] = entries[identity], new_digest
                else:
                    result.user_edited.append(f"the instruction of {identity}")
    if listed or (root / SAMPLE_LIST).is_file():
        numbered = [{"id": at, **_without_id(listed[name])} for at, name in enumerate(sorted(listed), 1)]
        write_json(root / SAMPLE_LIST, numbered)


def _entry_key(identity: str) -> str:
    """Return the key under which `build.json` stores the digest of a sample's list entry."""
    return f"{SAMPLE_LIST}#{identity}"


@contextmanager
def _record_write_errors(identity: str, result: WriteResult) -> Iterator[None]:
    """Record errors that occur while the files of a sample are written, instead of raising them."""
    try:
        yield
    except (ImageError, OSError) as error:
        result.failures[identity] = f"its files cannot be written: {write_error_reason(error)}"


def entry_sample_id(entry: Mapping[str, Any]) -> str:
    """Return the id of a sample: the name of its image without the suffix."""
    return filename_stem(entry["input_image"][0])


def _without_id(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "id"}


def _entry_digest(entry: Mapping[str, Any]) -> str:
    """Return the digest of an entry without its number. The number changes when other entries are added or removed."""
    text = json.dumps(_without_id(entry), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _build_entry(draft: SampleDraft, source: SourceImage) -> dict[str, Any]:
    return {
        "input_prompt": replace_lone_surrogates(draft.instruction),
        "input_image": [f"image/{source.name}"],
        "input_image_resolution": list(read_image_size(source.path)),
        "class_id": 1 + CLASS_DIMENSIONS.index(draft.dimension),
        "dimension": draft.dimension,
        "made": dict(draft.provenance),
    }


def build_questions_json(questions: Iterable[KeptQuestion]) -> dict[str, Any]:
    return {
        QUESTIONS_KEY: [
            {
                "question_id": f"Q{number}",
                "thinking_process": question.reason,
                "question": question.text,
                "choices": ["Yes", "No"],
                "answer": question.answer,
                "weight": question.weight,
                "made": dict(question.provenance),
            }
            for number, question in enumerate(questions, 1)
        ]
    }


def _needs_writing(root: Path, name: str, new_digest: str, result: WriteResult) -> bool:
    """Return whether a file is missing or outdated. If people have changed it, record that and return False."""
    path, new_digest = root / name, new_digest[:32]
    current_digest = file_digest(path)[:32] if path.is_file() else None
    if current_digest not in (None, new_digest, result.written.get(name)):
        result.user_edited.append(name)
        return False
    result.written[name] = new_digest
    return current_digest != new_digest


def read_sample_list(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a sample list, or [] if the file does not exist."""
    if not path.is_file():
        return []
    entries = read_json(path)
    if not isinstance(entries, list) or not all(map(_has_image, entries)):
        raise CrevalError(f"{path} must be a list of samples with input_image. Repair it first.")
    return entries


def _has_image(entry: object) -> bool:
    image = entry.get("input_image") if isinstance(entry, dict) else None
    return isinstance(image, list) and bool(image) and isinstance(image[0], str)
