"""Folders of touchstone's edits, as `creval edit` writes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.sample import Sample
from creval.editing.best_of import make_selector
from creval.editing.output_folder import save_edits
from creval.editing.session import EditorSession, EditSettings
from creval.editing.strategies import PlanResults, StrategyRunner, parse_strategy
from creval.editors.base import EditorOptions, EditOutput, EditRequest, PendingTask
from creval.providers.call_errors import CallError
from creval.providers.pricing import Price
from creval.store import RunWriter
from creval.touchstone.simulated_editor import SimulatedEditor


class Choosy(SimulatedEditor):
    """One of touchstone's editors that refuses some samples, with a given cost per image."""

    def __init__(self, bench: Path, editor: str, refuses: Collection[str] = (), cost: float | None = None) -> None:
        super().__init__(f"touchstone:{editor}", editor, EditorOptions(benchmark_folder=bench))
        self.price = cost  # type: ignore[assignment]
        self._refuses, self._cost = refuses, cost

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        if job.sample in self._refuses:
            raise CallError("content filter", "not this", retryable=False)
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
    price: Price | None = None,
) -> Path:
    """Return a folder with an editor's images of all samples, or of some."""
    benchmark, how = open_benchmark(bench), parse_strategy(strategy)
    samples = benchmark.dataset.samples if samples is None else samples
    manifest = {"editor": editor.name, "strategy": how.name, "judge": judge, "system": folder.name}
    with RunWriter(folder) as store:
        store.put_manifest({**manifest, "benchmark": "creval", "protocol": "creval"})
    editing = EditorSession(editor, folder, EditSettings())
    pick = think = None
    if how.best_of > 1:
        pick = make_selector(benchmark, judge, folder, lambda _: Settings(price=price))
    if how.reasoned:
        think = lambda _, wanted: PlanResults({name: f"A plan for {name}." for name in wanted})  # noqa: E731
    save_edits(folder, StrategyRunner(editing, folder.name, samples, how, selector=pick, planner=think).run())
    return folder
