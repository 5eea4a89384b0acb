"""What a run keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

from creval import __version__
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.schema import Level
from creval.store import RunWriter


def software_versions() -> dict[str, object]:
    """The day, and what ran."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "creval": __version__,
        "python": platform.python_version(),
    }


def describe_run(benchmark: Benchmark, judge: str, *, show_instruction: bool = False) -> dict[str, object]:
    """What every run keeps: the day, the versions, the benchmark, its questions, and the judge."""
    return {
        **software_versions(),
        "benchmark": benchmark.name,
        "protocol": benchmark.protocol.name,
        "benchmark_folder": str(benchmark.dataset.root.resolve()),
        "judge": judge,
        "levels": [level_entry(level) for level in benchmark.dataset.levels],
        "questions_digest": questions_digest(benchmark, show_instruction),
        "problems": sum(not finding.is_repaired for finding in benchmark.dataset.issues),
    }


def require_same_run(store: RunWriter, manifest: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse to put beside what a run holds something of another benchmark, judge ..."""
    held = store.manifest
    for name in names:
        # A run that was only measured has no judge yet, or no more.
        if held.get(name) and manifest[name] and held[name] != manifest[name]:
            raise CrevalError(
                f"{store.folder} holds a run of the {name} {held[name]!r}, not of "
                f"{manifest[name]!r}. Give another `run`."
            )


def questions_digest(benchmark: Benchmark, show_instruction: bool = False) -> str:
    """A name for all that judges are asked, with references and weights.

    What is measured can be measured again, and is no part of it.
    """
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
    """A level under the keys that `Run.levels` reads."""
    return {
        "name": level.name,
        "plural": level.plural,
        "groups": level.groups,
        "of": level.mean_of,
        "parts": level.groups_sub_scores,
        "minus": level.difference_of,
    }
