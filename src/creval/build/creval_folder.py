"""A benchmark in CREval's layout, made to be read, edited and kept under version control.

`build.json` keeps a digest of everything that was written: what has another one was changed by
people, and is left alone. What a review drops lies in `dropped/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.benchmarks.creval_release import CLASSES, METRICS
from creval.benchmarks.files import read_json, stem_of
from creval.build.creval import Made, Rejected
from creval.build.sheet import Asked
from creval.build.sources import Source
from creval.core.errors import CrevalError
from creval.core.files import clean_text, copy_whole, json_text, write_json, write_whole
from creval.core.images import digest, size_of

RECORD = "build.json"
LIST = "instruction.json"
DROPPED = "dropped"
QUESTIONS = "quality_check_questions"


def write_benchmark(
    root: Path,
    made: Mapping[str, Made],
    sources: Mapping[str, Source],
    left_out: Mapping[str, str],
    rejected: Mapping[str, Sequence[Rejected]],
    about: Mapping[str, object],
) -> list[str]:
    """Write what was made; the names of what was left alone, because people had changed it."""
    record = read_record(root)
    written: dict[str, str] = record.get("written", {})
    alone: list[str] = []
    kept = _entries(root, made, sources, written, alone)
    for identity in sorted(made.keys() & {identity_of(entry) for entry in kept}):
        source = sources[identity]
        image = f"image/{source.name}"
        if _is_to_be_written(root, image, digest(source.path), written, alone):
            copy_whole(source.path, root / image)
        for metric in METRICS:
            questions = made[identity].questions[metric]
            path = f"questions_all/{metric}/{identity}.json"
            text = json_text(questions_content(questions))
            fresh = hashlib.sha256(text.encode()).hexdigest()
            if _is_to_be_written(root, path, fresh, written, alone):
                write_whole(root / path, text)
    if kept or (root / LIST).is_file():
        write_json(root / LIST, kept)
    reasons = dict(record.get("rejected", {}))
    reasons |= {name: [_rejection(one) for one in found] for name, found in rejected.items()}
    kept_out = {name: why for name, why in record.get("left_out", {}).items() if name not in made}
    write_json(
        root / RECORD,
        {
            **about,
            "left_out": dict(sorted({**kept_out, **left_out}.items())),
            "rejected": {name: found for name, found in sorted(reasons.items()) if found},
            "written": dict(sorted(written.items())),
        },
    )
    return alone


def _entries(
    root: Path,
    made: Mapping[str, Made],
    sources: Mapping[str, Source],
    written: dict[str, str],
    alone: list[str],
) -> list[dict[str, Any]]:
    """The list of samples: new ones, and of those that are there what people made of them."""
    held = {identity_of(entry): entry for entry in read_list(root / LIST)}
    for identity in sorted(made):
        name = f"{LIST}#{identity}"
        entry = _entry(made[identity], sources[identity])
        fresh, before = _digest(entry), written.get(name)
        if identity not in held and before is not None:
            alone.append(f"{identity}, which was taken out of {LIST}")
            continue
        now = fresh if identity not in held else _digest(held[identity])
        if now not in (fresh, before):
            alone.append(f"the instruction of {identity}")
            continue
        held[identity], written[name] = entry, fresh
    return [{"id": at, **_without_id(held[name])} for at, name in enumerate(sorted(held), 1)]


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
    if not isinstance(record, dict) or not isinstance(record.get("written", {}), dict):
        raise CrevalError(f"{path} is not what creval build wrote; put it back or take it away.")
    return record


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
