"""What a benchmark's folder keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from creval import registry
from creval.calls.text_generation import TextGenerator
from creval.core.errors import CrevalError
from creval.core.files import read_json, write_json
from creval.prompts import Prompt
from creval.store import RunWriter, read_stored_texts
from creval.store.manifest import require_same, software_versions

BUILD_RECORD = "build.json"
_TEXT_MAPPINGS = ("written", "pictures", "given", "left_out")
BuildFingerprint = Mapping[str, Any]
"""What texts depend on, which stays the same in a folder."""


def build_fingerprint(
    benchmark: str, generator: TextGenerator[Any], prompts: Iterable[Prompt], **details: Any
) -> BuildFingerprint:
    """Return models, prompts and settings, and what else shapes the texts of a benchmark."""
    return {
        "system": benchmark,
        "models": {role: judge.name for role, judge in generator.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": generator.settings.image_fit,
        "seed": generator.settings.seed,
        **details,
    }


def read_stored_build(folder: Path) -> Mapping[str, Any]:
    """Return what a folder was begun with. Before the first text, all can be changed."""
    held = read_stored_texts(folder)
    return (held.manifest if held.texts else {}) or read_build_record(folder)


def require_same_build(folder: Path, fingerprint: BuildFingerprint) -> None:
    """Refuse to go on in a folder that was begun with something else, or holds a benchmark that was not begun here."""
    held = read_stored_build(folder)
    there = [registry.benchmarks.get(name).recognise(folder) for name in registry.benchmarks.names()]
    if not held and any(found and found.is_relative_to(folder) for found in there):
        raise CrevalError(f"{folder} holds another benchmark already. Give another `out`.")
    require_same_fingerprint(folder, held, fingerprint)


def save_build_manifest(
    generator: TextGenerator[Any], fingerprint: BuildFingerprint, facts: Mapping[str, Any] | None = None
) -> None:
    """Write down what is used, and other `facts`."""
    require_same_build(generator.folder, fingerprint)
    settings = generator.settings
    generator.folder.mkdir(parents=True, exist_ok=True)  # for everybody: benchmarks are passed on
    with RunWriter(generator.folder) as store, store.transaction():
        if store.reply_texts():
            require_same_fingerprint(generator.folder, store.manifest, fingerprint)
        more = {"retries": settings.retries, "limit": settings.limit, **(facts or {})}
        store.put_manifest({**software_versions(), **more, **fingerprint})


def write_build_record(folder: Path, fingerprint: BuildFingerprint, facts: Mapping[str, Any]) -> None:
    """Write beside a benchmark how it was made, and other `facts`."""
    made = {name: value for name, value in software_versions().items() if name != "date"}
    write_json(folder / BUILD_RECORD, {**made, **fingerprint, **facts})


def read_build_record(folder: Path) -> dict[str, Any]:
    """Return what `build.json` says; empty if there is none."""
    path = folder / BUILD_RECORD
    if not path.is_file():
        return {}
    record = read_json(path)
    if not isinstance(record, dict) or not all(_is_text_mapping(record.get(name, {})) for name in _TEXT_MAPPINGS):
        raise CrevalError(f"{path} is not what creval build wrote; put it back or take it away.")
    return record


def _is_text_mapping(content: object) -> bool:
    return isinstance(content, dict) and all(isinstance(text, str) for text in content.values())


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
