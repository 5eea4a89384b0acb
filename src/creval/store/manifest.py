"""What a run keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timezone

from creval import __version__
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.store import Store


def versions() -> dict[str, object]:
    """The day, and what ran."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "creval": __version__,
        "python": platform.python_version(),
    }


def describe(
    benchmark: Benchmark, judge: str, *, show_instruction: bool = False
) -> dict[str, object]:
    """What every run keeps: the day, the versions, the benchmark, its questions, and the judge."""
    return {
        **versions(),
        "benchmark": benchmark.name,
        "protocol": benchmark.protocol.name,
        "benchmark_folder": str(benchmark.dataset.root.resolve()),
        "judge": judge,
        "levels": [asdict(level) for level in benchmark.dataset.levels],
        "questions_digest": questions_digest(benchmark, show_instruction),
        "problems": sum(not finding.repaired for finding in benchmark.dataset.findings),
    }


def check_same(store: Store, manifest: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse to put beside what a run holds something of another benchmark, judge ..."""
    held = store.manifest
    for name in names:
        # A run that was only measured has no judge yet, or no more.
        if held.get(name) and manifest[name] and held[name] != manifest[name]:
            raise CrevalError(
                f"{store.folder} holds a run of the {name} {held[name]!r}, not of "
                f"{manifest[name]!r}. Give another --run."
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
            parts += (question.id, question.text, question.released, str(question.weight))
            parts += (question.contract, *question.shows, question.group)
            parts += (question.rubric, question.prompt, question.form)
        if show_instruction or any("instruction" in question.shows for question in asked):
            parts.append(sample.instruction)
        digest.update("\x1f".join(parts).encode("utf-8", "replace"))
    return digest.hexdigest()
