"""Runs with a user's judge or metric that has changed."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from creval import registry
from creval.benchmarks import open_benchmark
from creval.calls.settings import JudgeSettings
from creval.core.benchmark import Protocol
from creval.core.errors import CrevalError
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.schema import OVERALL, Metric, Score, ScoreSchema
from creval.judging.judge_run import HUB_COMMITS_KEY, JudgeRun
from creval.metrics.user_metric import user_metric_class
from creval.store import open_run
from creval.touchstone.builder import build_touchstone


class Both(Protocol):
    """Protocol with one question, and one measurement by a program."""

    name = "own-code"

    def __init__(self, measured: str) -> None:
        self._measured = measured
        metrics = (Metric("asked", "asked"), Metric("measure", "measure", 0.0, 1.0))
        self.schema = ScoreSchema(metrics, None, (OVERALL,))

    def probes(self, sample: Sample) -> Sequence[Probe]:  # noqa: ARG002
        return [Question("asked", "asked", "How good?", "1-5"), Measurement("measure", "measure", self._measured)]

    def score(
        self,
        sample: Sample,  # noqa: ARG002
        probes: Sequence[Probe],
        values: Mapping[str, float | None],
        *,
        strict: bool = False,  # noqa: ARG002
    ) -> Mapping[str, Score]:
        return self.single_probe_scores(probes, values)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    build_touchstone(Path("bench"), 4, 3)
    Path("edits").mkdir()
    for sample in open_benchmark("bench").dataset.samples:
        shutil.copy(str(sample.source), f"edits/{sample.id}.png")
    yield
    registry.protocols._registered.pop("own-code", None)


def run_of(answer: int, value: float, samples: int | None = None, **settings: bool) -> JudgeRun:
    """Make a run with a judge that returns this answer, and a metric that returns this value."""
    Path("own_judge.py").write_text(f"def answer(questions):\n    return [{answer}] * len(questions)\n")
    Path("measure.py").write_text(f"import sys\nopen(sys.argv[2], 'w').write('{value}')\n")
    metric = f"command:{sys.executable} measure.py {{edit}} {{output}}"
    user_metric_class.cache_clear()
    benchmark = open_benchmark("bench", Both(metric))
    whole = benchmark.dataset.samples
    benchmark = replace(benchmark, dataset=replace(benchmark.dataset, samples=whole[:samples]))
    return JudgeRun(benchmark, ["edits"], "python:own_judge:answer", "run", JudgeSettings(**settings))  # type: ignore[arg-type]


def stored() -> dict[str, Counter[float | None]]:
    """Return the values in the run, by metric."""
    with open_run("run") as run:
        rows = [(row.probe, row.value) for row in run.answers()]
    return {probe: Counter(value for other, value in rows if other == probe) for probe, _ in rows}


def test_a_changed_judge_or_metric_needs_a_choice() -> None:
    run_of(2, 0.25, samples=2).run()
    assert stored() == {"asked": {2.0: 2}, "measure": {0.25: 2}}
    for answer, value, name in (
        (3, 0.25, r"python:own_judge:answer: own_judge\.py"),
        (2, 0.5, r"command:.* measure\.py"),
    ):
        for begin in (JudgeRun.read_answered, JudgeRun.run):
            with pytest.raises(CrevalError, match=f"run was made with another version of {name} changed.*`run`"):
                begin(run_of(answer, value, samples=2))
    assert stored() == {"asked": {2.0: 2}, "measure": {0.25: 2}}, "nothing was touched"


def test_old_answers_are_kept_or_asked_for_again() -> None:
    run_of(2, 0.25, samples=2).run()
    kept = run_of(3, 0.5, samples=2, keep_old=True)
    assert sum(len(done) for done in kept.read_answered().values()) == 4
    done = kept.run()
    assert stored() == {"asked": {2.0: 2}, "measure": {0.25: 2}}
    assert any("answers of 2 versions of python:own_judge:answer" in note for note in done.notes)
    assert run_of(3, 0.5, samples=2).run().progress.requests_sent == 0, "the choice is remembered"
    redone = run_of(4, 0.75, samples=2, redo=True)
    assert not any(redone.read_answered().values())
    done = redone.run()
    assert stored() == {"asked": {4.0: 2}, "measure": {0.75: 2}}
    assert any("are deleted and requested again" in note for note in done.notes)
    assert run_of(4, 0.75, samples=2, redo=True).run().progress.requests_sent == 0, "what was redone is not redone"


def test_commits_of_models_from_the_hub_are_stored_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for commit, notes in (
        ("abc", []),
        ("def", ["org/m was loaded from the hub at commit abc before, and now at def."]),
    ):
        monkeypatch.setattr("creval.providers.huggingface._loaded_commits", {"org/m": commit, "org/other": "x"})
        run = run_of(2, 0.25, samples=1)
        run.judges[0].model = "org/m"
        assert [note for note in run.run().notes if "hub" in note] == notes
        with open_run("run") as opened:
            assert opened.manifest[HUB_COMMITS_KEY] == {"org/m": commit}
