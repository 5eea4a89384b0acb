"""What a benchmark's folder keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval import registry
from creval.calls.text_generation import TextGenerator
from creval.core.errors import CrevalError
from creval.core.files import read_json, write_json
from creval.prompts import Prompt
from creval.store import RunWriter
from creval.store.manifest import require_same, software_versions

BUILD_RECORD = "build.json"
BuildFingerprint = Mapping[str, Any]
"""What texts depend on, which stays the same in a folder."""


def build_fingerprint(
    benchmark: str, generator: TextGenerator[Any], prompts: Iterable[Prompt], **details: Any
) -> BuildFingerprint:
    """Models, prompts and settings, and what else shapes the texts of a system."""
    return {
        "system": benchmark,
        "models": {role: judge.name for role, judge in generator.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": generator.settings.image_fit,
        "seed": generator.settings.seed,
        **details,
    }


def require_same_build(generator: TextGenerator[Any], fingerprint: BuildFingerprint) -> None:
    """Refuse to go on in a folder that was begun with something else, or holds a benchmark that
    was not begun here. Before the first text, all can be changed."""
    folder, (held, texts) = generator.folder, generator.stored_texts()
    if not texts:
        held = {}
    if not held and (folder / BUILD_RECORD).is_file():
        record = read_json(folder / BUILD_RECORD)
        held = record if isinstance(record, dict) else {}
    there = [registry.benchmarks.get(name).recognise(folder) for name in registry.benchmarks.names()]
    if not held and any(found and found.is_relative_to(folder) for found in there):
        raise CrevalError(f"{folder} holds another benchmark already. Give another `out`.")
    require_same_fingerprint(folder, held, fingerprint)


def save_build_manifest(generator: TextGenerator[Any], fingerprint: BuildFingerprint) -> None:
    """Write down what is used."""
    require_same_build(generator, fingerprint)
    settings = generator.settings
    with RunWriter(generator.folder) as store, store.transaction():
        if store.reply_texts():
            require_same_fingerprint(generator.folder, store.manifest, fingerprint)
        more = {"retries": settings.retries, "limit": settings.limit}
        store.put_manifest({**software_versions(), **more, **fingerprint})


def write_build_record(
    folder: Path,
    fingerprint: BuildFingerprint,
    left_out: Mapping[str, str],
    rejections: Mapping[str, Sequence[str]],
    **extra: object,
) -> None:
    """Write beside a benchmark how it was made, what the last start left out and why, and what was
    rejected of that; what was rejected of the rest stands with it."""
    made = {name: value for name, value in software_versions().items() if name != "date"}
    reasons = {name: rejections[name] for name in sorted(left_out) if rejections.get(name)}
    found = {"left_out": dict(sorted(left_out.items())), "rejected": reasons, **extra}
    write_json(folder / BUILD_RECORD, {**made, **fingerprint, **found})


def require_same_fingerprint(folder: Path, stored: Mapping[str, Any], fingerprint: BuildFingerprint) -> None:
    """Refuse to go on in a folder that was begun with something else."""
    if stored and stored.get("system") != fingerprint["system"]:
        raise CrevalError(f"{folder} holds something else already. Give another `out`.")
    require_same(
        stored,
        fingerprint,
        lambda name, before, now: (
            f"{folder} was begun with {'other' if name.endswith('s') else 'another'} {name} ({before!r}, not "
            f"{now!r}). Give another `out`, or the same again."
        ),
    )
