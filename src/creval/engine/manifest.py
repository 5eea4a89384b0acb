"""What a run keeps about how it was made, and that it stays one thing."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from creval import __version__
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from creval.core.probe import Probe, Question
from creval.store import Store


def describe(benchmark: Benchmark, judge: str) -> dict[str, object]:
    """What every run keeps: the versions, the benchmark, its questions, and the judge."""
    asked = {s.id: benchmark.protocol.probes(s) for s in benchmark.dataset.samples}
    return {
        "creval": __version__,
        "python": platform.python_version(),
        "benchmark": benchmark.name,
        "protocol": benchmark.protocol.name,
        "benchmark_folder": str(benchmark.dataset.root.resolve()),
        "judge": judge,
        "levels": [asdict(level) for level in benchmark.dataset.levels],
        "questions_digest": questions_digest(asked),
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


def questions_digest(asked: Mapping[str, Sequence[Probe]]) -> str:
    """A name for all questions of a benchmark with their references and weights."""
    digest = hashlib.blake2b(digest_size=16)
    for sample, probes in asked.items():
        parts = [sample]
        for probe in probes:
            if isinstance(probe, Question):
                parts += (probe.id, probe.text, probe.released, str(probe.weight), probe.contract)
                if probe.prompt or probe.rubric:
                    parts += (probe.rubric, probe.prompt, probe.form)
            else:
                parts.append(repr(probe))
        digest.update("\x1f".join(parts).encode("utf-8", "replace"))
    return digest.hexdigest()
