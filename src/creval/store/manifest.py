"""Content of a run's manifest, and checks that a resumed run has the same settings."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from creval import __version__
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.redaction import hide_settings
from creval.core.schema import Level
from creval.store import RunWriter


def software_versions() -> dict[str, object]:
    """Return today's date and the versions of creval and Python."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "creval": __version__,
        "python": platform.python_version(),
    }


def describe_run(benchmark: Benchmark, judge: str, *, show_instruction: bool = False) -> dict[str, object]:
    """Return the manifest entries that every run has: date, versions, benchmark, digest of the questions, and judge."""
    return {
        **software_versions(),
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "question_metrics": list(benchmark.dataset.metrics),
        "protocol": benchmark.protocol.name,
        "benchmark_folder": str(benchmark.dataset.root.resolve()),
        "judge": judge,
        "levels": [level_entry(level) for level in benchmark.dataset.levels],
        "questions_digest": questions_digest(benchmark, show_instruction),
        "problems": sum(not finding.is_repaired for finding in benchmark.dataset.issues),
    }


def benchmark_title(manifest: Mapping[str, Any]) -> str:
    """Return the title of a run's benchmark, or its name for older runs, which have no title."""
    return str(manifest.get("title") or manifest["benchmark"])


def require_same(
    stored: Mapping[str, Any], current: Mapping[str, Any], message: Callable[[str, Any, Any], str]
) -> None:
    """Raise `CrevalError` if a current setting differs from the stored one. Settings that are not stored are ignored.

    `message` returns the error's text for the first difference, from its name, stored value and current value.
    """
    for name, value in current.items():
        # Older versions stored secrets without hiding them.
        if name in stored and hide_settings(stored[name]) != hide_settings(value):
            raise CrevalError(message(name, hide_settings(stored[name]), hide_settings(value)))


def require_same_run(store: RunWriter, manifest: Mapping[str, object]) -> None:
    """Raise `CrevalError` if a run has another benchmark, protocol or judge."""
    # A run with measurements only has no judge.
    current = {name: manifest[name] for name in ("benchmark", "protocol", "judge") if manifest[name]}
    require_same(
        {name: value for name, value in store.manifest.items() if value},
        current,
        lambda name, before, now: (
            f"{store.folder} is a run with the {name} {before!r}, not {now!r}. Give another `run`."
        ),
    )


def questions_digest(benchmark: Benchmark, show_instruction: bool = False) -> str:
    """Return a digest of all questions to judges, with references and weights. Measurements are not included."""
    digest = hashlib.blake2b(digest_size=16)
    for sample in benchmark.dataset.samples:
        asked = [q for q in benchmark.protocol.probes(sample) if isinstance(q, Question)]
        parts = [sample.id]
        for question in asked:
            parts += (question.id, question.text, question.released_reference, str(question.weight))
            parts += (question.scale, *question.shows, question.group)
            parts += (question.rubric, question.prompt, question.form)
        if show_instruction or any("instruction" in question.shows for question in asked):
            parts.append(sample.instruction)
        digest.update("\x1f".join(parts).encode("utf-8", "replace"))
    return digest.hexdigest()


def level_entry(level: Level) -> dict[str, object]:
    """Return a level as the manifest entry that `Run.levels` reads."""
    return {
        "name": level.name,
        "plural": level.plural,
        "groups": level.groups,
        "of": level.mean_of,
        "parts": level.groups_sub_scores,
        "minus": level.difference_of,
    }
