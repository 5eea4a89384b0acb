"""A benchmark in CREval's layout, made to be read, edited and kept under version control.

`build.json` keeps a digest of everything that was written: what has another one was changed by
people, and is left alone. What a review drops lies in `dropped/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from creval.benchmarks.creval.release import CLASSES, METRICS
from creval.building.creval.pipeline import Made, Rejected
from creval.building.creval.questions import Asked
from creval.building.creval.sources import Source
from creval.building.manifest import RECORD
from creval.core.errors import CrevalError
from creval.core.files import (
    clean_text,
    copy_whole,
    json_text,
    read_json,
    stem_of,
    write_json,
    write_whole,
)
from creval.core.images import ImageError, digest, size_of
from creval.store.lock import turn

LIST = "instruction.json"
DROPPED = "dropped"
QUESTIONS = "quality_check_questions"
_NAMED = ("written", "pictures", "given", "left_out")


class Kept(NamedTuple):
    """What became of a benchmark's files: what was left alone, because people had changed it, and
    the pictures that could not be written, with the reason."""

    alone: list[str]
    unwritten: dict[str, str]


def write_benchmark(
    root: Path,
    made: Mapping[str, Made],
    sources: Mapping[str, Source],
    left_out: Mapping[str, str],
    rejected: Mapping[str, Sequence[Rejected]],
    about: Mapping[str, object],
) -> Kept:
    """Write what was made, but for what people have changed."""
    record = read_record(root)
    written: dict[str, str] = record.get("written", {})
    kept = Kept([], {})
    there = {identity_of(entry) for entry in read_list(root / LIST)}
    entries = {}
    for identity in sorted(made):  # before anybody has to wait: pictures take long
        if identity in there or _named(identity) not in written:
            with _told(identity, kept):
                entries[identity] = _entry(made[identity], sources[identity])
                _write_picture(root, sources[identity], written, kept.alone)
    with turn(root):
        _write_texts(root, made, entries, written, kept)
    reasons = dict(record.get("rejected", {}))
    reasons |= {name: [_rejection(one) for one in found] for name, found in rejected.items()}
    kept_out = {name: why for name, why in record.get("left_out", {}).items() if name not in made}
    write_json(
        root / RECORD,
        {
            **about,
            "left_out": dict(sorted({**kept_out, **left_out, **kept.unwritten}.items())),
            "rejected": {name: found for name, found in sorted(reasons.items()) if found},
            "written": dict(sorted(written.items())),
        },
    )
    return kept


def _write_texts(
    root: Path,
    made: Mapping[str, Made],
    entries: Mapping[str, Mapping[str, Any]],
    written: dict[str, str],
    kept: Kept,
) -> None:
    """Write the list of samples, and the questions of those whose pictures are there."""
    held: dict[str, Mapping[str, Any]]
    held = {identity_of(entry): entry for entry in read_list(root / LIST)}
    for identity in sorted(made):
        name = _named(identity)
        if identity not in held and name in written:
            kept.alone.append(f"{identity}, which was taken out of {LIST}")
        elif identity in entries and identity not in kept.unwritten:
            with _told(identity, kept):
                _write_questions(root, identity, made[identity], written, kept.alone)
                fresh = _digest(entries[identity])
                now = _digest(held[identity]) if identity in held else None
                if now in (None, fresh, written.get(name)):
                    held[identity], written[name] = entries[identity], fresh
                else:
                    kept.alone.append(f"the instruction of {identity}")
    if held or (root / LIST).is_file():
        listed = [{"id": at, **_without_id(held[name])} for at, name in enumerate(sorted(held), 1)]
        write_json(root / LIST, listed)


def _named(identity: str) -> str:
    """What `build.json` calls a sample's entry in the list."""
    return f"{LIST}#{identity}"


@contextmanager
def _told(identity: str, kept: Kept) -> Iterator[None]:
    """Files of a sample being written; if they cannot be, that is told."""
    try:
        yield
    except (ImageError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        kept.unwritten[identity] = f"its files cannot be written: {why}"


def _write_picture(root: Path, source: Source, written: dict[str, str], alone: list[str]) -> None:
    image = f"image/{source.name}"
    if _is_to_be_written(root, image, digest(source.path), written, alone):
        copy_whole(source.path, root / image)


def _write_questions(
    root: Path, identity: str, made: Made, written: dict[str, str], alone: list[str]
) -> None:
    for metric in METRICS:
        path = f"questions_all/{metric}/{identity}.json"
        text = json_text(questions_content(made.questions[metric]))
        fresh = hashlib.sha256(text.encode()).hexdigest()
        if _is_to_be_written(root, path, fresh, written, alone):
            write_whole(root / path, text)


def identity_of(entry: Mapping[str, Any]) -> str:
    """The id of a sample, which is its picture's name without the ending."""
    return stem_of(entry["input_image"][0])


def _without_id(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "id"}


def _digest(entry: Mapping[str, Any]) -> str:
    """Of an entry without its number, which moves when others come and go."""
    text = json.dumps(_without_id(entry), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _entry(made: Made, source: Source) -> dict[str, Any]:
    return {
        "input_prompt": clean_text(made.instruction),
        "input_image": [f"image/{source.name}"],
        "input_image_resolution": list(size_of(source.path)),
        "class_id": 1 + CLASSES.index(made.dimension),
        "dimension": made.dimension,
        "made": dict(made.made),
    }


def questions_content(questions: Iterable[Asked]) -> dict[str, Any]:
    """The content of a file of questions."""
    return {
        QUESTIONS: [
            {
                "question_id": f"Q{number}",
                "thinking_process": asked.reason,
                "question": asked.text,
                "choices": ["Yes", "No"],
                "answer": asked.answer,
                "weight": asked.weight,
                "made": dict(asked.made),
            }
            for number, asked in enumerate(questions, 1)
        ]
    }


def _rejection(rejected: Rejected) -> dict[str, object]:
    rule, sentence, text = rejected.fault
    return {"stage": rejected.stage, "try": rejected.attempt, "rule": rule, "why": sentence,
            "text": text}  # fmt: skip


def _is_to_be_written(
    root: Path, name: str, fresh: str, written: dict[str, str], alone: list[str]
) -> bool:
    """Whether a file is not there yet as it is to be; one that people changed is left alone."""
    path, fresh = root / name, fresh[:32]
    now = digest(path)[:32] if path.is_file() else None
    if now not in (None, fresh, written.get(name)):
        alone.append(name)
        return False
    written[name] = fresh
    return now != fresh


def read_record(root: Path) -> dict[str, Any]:
    """What `build.json` says; nothing where there is none."""
    path = root / RECORD
    if not path.is_file():
        return {}
    record = read_json(path)
    if not isinstance(record, dict) or not all(_names(record.get(name, {})) for name in _NAMED):
        raise CrevalError(f"{path} is not what creval build wrote; put it back or take it away.")
    return record


def _names(content: object) -> bool:
    """Whether it is texts by name."""
    return isinstance(content, dict) and all(isinstance(text, str) for text in content.values())


def read_list(path: Path) -> list[dict[str, Any]]:
    """The samples in a list; none where there is no file."""
    if not path.is_file():
        return []
    entries = read_json(path)
    if not isinstance(entries, list) or not all(map(_whole, entries)):
        raise CrevalError(f"{path} should hold a list of samples with input_image; mend it first.")
    return entries


def _whole(entry: object) -> bool:
    image = entry.get("input_image") if isinstance(entry, dict) else None
    return isinstance(image, list) and bool(image) and isinstance(image[0], str)
