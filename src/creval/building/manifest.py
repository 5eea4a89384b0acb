"""What a benchmark's folder keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval import registry
from creval.calls.text_generation import Writing
from creval.core.errors import CrevalError
from creval.core.files import read_json, write_json
from creval.prompts import Prompt
from creval.store import Store
from creval.store.manifest import versions

RECORD = "build.json"
Fixed = Mapping[str, Any]
"""What texts depend on, which stays the same in a folder."""


def fixed_by(system: str, writing: Writing[Any], prompts: Iterable[Prompt], **shape: Any) -> Fixed:
    """Models, prompts and settings, and what else shapes the texts of a system."""
    return {
        "system": system,
        "models": {role: judge.name for role, judge in writing.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": writing.settings.image_fit,
        "seed": writing.settings.seed,
        **shape,
    }


def check_folder(writing: Writing[Any], fixed: Fixed) -> None:
    """Refuse to go on in a folder that was begun with something else, or holds a benchmark that
    was not begun here. Before the first text, all can be changed."""
    folder, (held, texts) = writing.folder, writing.held()
    if not texts:
        held = {}
    if not held and (folder / RECORD).is_file():
        record = read_json(folder / RECORD)
        held = record if isinstance(record, dict) else {}
    there = [
        registry.benchmarks.get(name).recognise(folder) for name in registry.benchmarks.names()
    ]
    if not held and any(found and found.is_relative_to(folder) for found in there):
        raise CrevalError(f"{folder} holds another benchmark already. Give another --out.")
    check_same(folder, held, fixed)


def keep_manifest(writing: Writing[Any], fixed: Fixed) -> None:
    """Write down what is used."""
    check_folder(writing, fixed)
    settings = writing.settings
    with Store(writing.folder) as store, store.transaction():
        if store.texts():
            check_same(writing.folder, store.manifest, fixed)
        more = {"retries": settings.retries, "limit": settings.limit}
        store.put_manifest({**versions(), **more, **fixed})


def write_record(
    folder: Path,
    fixed: Fixed,
    left_out: Mapping[str, str],
    rejected: Mapping[str, Sequence[str]],
    **more: object,
) -> None:
    """Write beside a benchmark how it was made, what the last start left out and why, and what was
    rejected of that; what was rejected of the rest stands with it."""
    made = {name: value for name, value in versions().items() if name != "date"}
    reasons = {name: rejected[name] for name in sorted(left_out) if rejected.get(name)}
    found = {"left_out": dict(sorted(left_out.items())), "rejected": reasons, **more}
    write_json(folder / RECORD, {**made, **fixed, **found})


def check_same(folder: Path, held: Mapping[str, Any], fixed: Fixed) -> None:
    """Refuse to go on in a folder that was begun with something else."""
    if held and held.get("system") != fixed["system"]:
        raise CrevalError(f"{folder} holds something else already. Give another --out.")
    for name, value in fixed.items():
        if name in held and held[name] != value:
            other = "other" if name.endswith("s") else "another"
            raise CrevalError(
                f"{folder} was begun with {other} {name} ({held[name]!r}, not {value!r}). Give "
                "another --out, or the same again."
            )
