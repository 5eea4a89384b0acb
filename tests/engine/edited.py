"""Folders of touchstone's pictures as `creval edit` leaves them: with its store and its path."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from creval.benchmarks import open_benchmark
from creval.benchmarks.touchstone.files import read_samples
from creval.core.sample import Sample, Step
from creval.editors.editor import EditorOptions, Job, Produced, Ticket
from creval.editors.known import Drawn
from creval.engine.edited import keep
from creval.engine.editing import Editing, EditSettings
from creval.engine.picking import picking
from creval.engine.settings import Settings
from creval.engine.strategies import Editors, read_strategy
from creval.judges.judge import Fault


class Choosy(Drawn):
    """One of touchstone's editors that refuses some samples; a picture costs what it is told."""

    def __init__(
        self, bench: Path, editor: str, refuses: Collection[str] = (), cost: float | None = None
    ) -> None:
        super().__init__(f"touchstone:{editor}", editor, EditorOptions(bench=bench))
        self._refuses, self._cost = refuses, cost

    async def edit(self, job: Job, ticket: Ticket) -> Produced:
        if job.sample in self._refuses:
            raise Fault("content filter", "not this", again=False)
        made = await super().edit(job, ticket)
        return made._replace(cost=self._cost)


def edited(
    bench: Path,
    folder: Path,
    editor: Choosy,
    strategy: str = "direct",
    *,
    samples: Sequence[Sample] | None = None,
    judge: str = "truth",
    plans: Mapping[str, str] | None = None,
) -> Path:
    """A folder with an editor's pictures of all samples, or of some."""
    benchmark, how = open_benchmark(bench), read_strategy(strategy)
    samples = benchmark.dataset.samples if samples is None else samples
    editing = Editing(editor, folder, EditSettings())
    pick = picking(benchmark, judge, folder, Settings()) if how.best_of > 1 else None
    finished = Editors(editing, folder.name, samples, how, pick=pick, plans=plans).run()
    manifest = {"editor": editor.name, "strategy": how.name, "judge": judge if pick else ""}
    keep(folder, finished, {**manifest, "benchmark": "creval", "protocol": "creval"})
    return folder


def stepped(bench: Path) -> list[Sample]:
    """Touchstone's samples with their requirements as steps."""
    known = {sample.id: sample for sample in read_samples(bench)}
    return [
        replace(sample, steps=tuple(Step(r.words) for r in known[sample.id].requirements))
        for sample in open_benchmark(bench).dataset.samples
    ]
