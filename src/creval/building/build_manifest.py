"""Provenance of a built benchmark: manifest in the store, `build.json`, and checks that a resumed build is the same."""

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
"""Settings that affect texts. They are fixed for a folder."""


def build_fingerprint(
    benchmark: str, generator: TextGenerator[Any], prompts: Iterable[Prompt], **details: Any
) -> BuildFingerprint:
    """Return everything that affects the texts of a benchmark: models, prompts, settings and other `details`."""
    return {
        "system": benchmark,
        "models": {role: judge.name for role, judge in generator.judges.items()},
        "prompts": sorted(prompt.version for prompt in prompts),
        "image_fit": generator.settings.image_fit,
        "seed": generator.settings.seed,
        **details,
    }


def read_stored_build(folder: Path) -> Mapping[str, Any]:
    """Return the settings of the build in a folder. {} if nothing is built yet, so settings can still be changed."""
    stored = read_stored_texts(folder)
    return (stored.manifest if stored.texts else {}) or read_build_record(folder)


def require_same_build(folder: Path, fingerprint: BuildFingerprint) -> None:
    """Raise `CrevalError` if the folder's build has other settings, or if creval did not build its benchmark."""
    stored = read_stored_build(folder)
    recognised = [registry.benchmarks.get(name).recognise(folder) for name in registry.benchmarks.names()]
    if not stored and any(found and found.is_relative_to(folder) for found in recognised):
        raise CrevalError(f"{folder} already contains another benchmark. Give another `out`.")
    require_same_fingerprint(folder, stored, fingerprint)


def save_build_manifest(
    generator: TextGenerator[Any], fingerprint: BuildFingerprint, facts: Mapping[str, Any] | None = None
) -> None:
    """Write the manifest: versions, settings, fingerprint and other `facts`."""
    require_same_build(generator.folder, fingerprint)
    settings = generator.settings
    generator.folder.mkdir(parents=True, exist_ok=True)  # with default permissions, since benchmarks are shared
    with RunWriter(generator.folder) as store, store.transaction():
        if store.reply_texts():
            require_same_fingerprint(generator.folder, store.manifest, fingerprint)
        more = {"retries": settings.retries, "limit": settings.limit, **(facts or {})}
        store.put_manifest({**software_versions(), **more, **fingerprint})


def write_build_record(folder: Path, fingerprint: BuildFingerprint, facts: Mapping[str, Any]) -> None:
    """Write `build.json`: versions, fingerprint and other `facts`."""
    versions = {name: value for name, value in software_versions().items() if name != "date"}
    write_json(folder / BUILD_RECORD, {**versions, **fingerprint, **facts})


def read_build_record(folder: Path) -> dict[str, Any]:
    """Return the content of `build.json`, or {} if it does not exist."""
    path = folder / BUILD_RECORD
    if not path.is_file():
        return {}
    record = read_json(path)
    if not isinstance(record, dict) or not all(_is_text_mapping(record.get(name, {})) for name in _TEXT_MAPPINGS):
        raise CrevalError(f"{path} does not have the form that creval build writes. Restore it or delete it.")
    return record


def _is_text_mapping(content: object) -> bool:
    return isinstance(content, dict) and all(isinstance(text, str) for text in content.values())


def require_same_fingerprint(folder: Path, stored: Mapping[str, Any], fingerprint: BuildFingerprint) -> None:
    """Raise `CrevalError` if the stored settings differ from the fingerprint."""
    if stored and stored.get("system") != fingerprint["system"]:
        raise CrevalError(f"{folder} already contains something else. Give another `out`.")
    require_same(
        stored,
        fingerprint,
        lambda name, before, now: (
            f"{folder} was started with {'other' if name.endswith('s') else 'another'} {name} ({before!r}, not "
            f"{now!r}). Use the same value, or give another `out`."
        ),
    )
