"""Strategies, on synthetic images with known ground truth."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.sample import Sample
from creval.editing.best_of import make_selector
from creval.editing.output_folder import invalid_path_reason, sample_image_stem, save_edits
from creval.editing.session import EditorSession, EditSettings
from creval.editing.strategies import PlanRequest, PlanResults, Strategy, StrategyResult, StrategyRunner, parse_strategy
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask
from creval.judging.judge_run import judge as ask
from creval.providers.call_errors import CallError
from creval.stats.score_table import Floats
from creval.store import RunWriter, open_run
from creval.store.edit_folders import find_edits
from creval.touchstone.builder import build_touchstone
from creval.touchstone.files import read_touchstone_samples
from creval.touchstone.simulated_editor import SimulatedEditor


class Mixed(Editor):
    """An editor that is faithful in three cases of ten, otherwise clumsy."""

    name = model = "mixed"
    price = 0.0

    def __init__(self, bench: Path) -> None:
        self.notes = []
        options = EditorOptions(benchmark_folder=bench)
        self._good, self._bad = (SimulatedEditor("x", n, options) for n in ("faithful", "clumsy"))
        self.asked = 0

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        self.asked += 1
        good = random.Random(f"{job.sample} {job.seed}").random() < 0.3
        return await (self._good if good else self._bad).edit(job, ticket)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strategies")
    build_touchstone(folder / "bench", 12, 3)
    return folder / "bench"


def stepped(bench: Path) -> list[Sample]:
    """Return touchstone's samples. Their requirements are their steps."""
    return list(open_benchmark(bench).dataset.samples)


def test_names() -> None:
    assert parse_strategy("direct") == Strategy()
    assert parse_strategy("best-of:4 + sequential").name == "sequential+best-of:4"
    assert parse_strategy("reasoned").name == "reasoned"
    assert parse_strategy("best-of:1") == Strategy()
    for wrong in ("", "best-of", "best-of:0", "best-of:x", "best-of:2+best-of:3", "a,direct"):
        with pytest.raises(CrevalError, match="not one of direct"):
            parse_strategy(wrong)


def test_steps_and_all_at_once_agree(bench: Path, tmp_path: Path) -> None:
    """With a faithful editor, sequential steps give the same image as the whole instruction."""
    options = EditorOptions(benchmark_folder=bench)
    images = []
    for name in ("direct", "sequential"):
        editing = EditorSession(SimulatedEditor("x", "faithful", options), tmp_path / name, EditSettings())
        found = StrategyRunner(editing, "M", stepped(bench), parse_strategy(name)).run()
        assert all(edit.status is EditStatus.DONE for edit in found.edits.values())
        images.append([Image.open(e.image or "").tobytes() for e in found.edits.values()])
        if name == "sequential":
            assert len(found.intermediate) == sum(len(s.steps) for s in stepped(bench))
    alike = sum(one == two for one, two in zip(*images, strict=True))
    assert alike >= 9, "in a few samples, the result depends on the order of the steps"


def test_chains_are_shared(bench: Path, tmp_path: Path) -> None:
    """A sample that is a prefix of another is an intermediate step of it."""
    whole = stepped(bench)[0]
    parts = [replace(whole, id=f"C{n}", steps=whole.steps[:n]) for n in (1, 2, 3)]
    known = {p.id: replace(read_touchstone_samples(bench)[0], id=p.id) for p in parts}
    editor = SimulatedEditor("x", "faithful", EditorOptions(benchmark_folder=bench))
    editor._samples = known
    editing = EditorSession(editor, tmp_path / "M", EditSettings())
    found = StrategyRunner(editing, "M", parts, Strategy(sequential=True)).run()
    assert editing.progress.requests_sent == 3
    assert [key.sample for key in found.edits] == ["C1", "C2", "C3"]
    assert found.edits[EditKey("M", "C3")].parents == (EditKey("M", "C2"),)


def test_equal_instructions_with_other_inputs_are_another_chain(tmp_path: Path) -> None:
    for name, colour in (("s", "white"), ("1", "red"), ("2", "blue")):
        Image.new("L" if name == "s" else "RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    source, one, two = (tmp_path / f"{name}.png" for name in "s12")
    samples = [
        Sample("a", "do", source, references=(one,)),
        Sample("b", "do", source, references=(two,)),
        Sample("c", "do", source, mask=source),
        Sample("d", "do", source),
        Sample("e", "do", source, references=(one,)),
    ]

    class Copies(Stubborn):
        async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
            del ticket
            return EditOutput((*job.references, source)[0].read_bytes())

    editing = EditorSession(Copies(), tmp_path / "M", EditSettings())
    found = StrategyRunner(editing, "M", samples, Strategy()).run()
    assert editing.progress.requests_sent == 4
    came = {key.sample: (edit.image or source).read_bytes() for key, edit in found.edits.items()}
    assert {name: content == two.read_bytes() for name, content in came.items()} == {
        "a": False,
        "b": True,
        "c": False,
        "d": False,
        "e": False,
    }
    assert came["e"] == one.read_bytes()


class Stubborn(Editor):
    name = model = "stubborn"
    price = 0.0

    def __init__(self) -> None:
        self.notes = []

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del job, ticket
        raise CallError("content filter", "no", retryable=False)


def test_a_step_that_fails_ends_its_chain(bench: Path, tmp_path: Path) -> None:
    editing = EditorSession(Stubborn(), tmp_path / "M", EditSettings())
    samples = stepped(bench)[:2]
    found = StrategyRunner(editing, "M", samples, Strategy(sequential=True)).run()
    assert len(found.edits) == 2
    for edit in found.edits.values():
        assert edit.status is EditStatus.REFUSED
        assert edit.reason.endswith("content filter: no")
    assert editing.progress.requests_sent == 2


def test_requirements_of_strategies(bench: Path, tmp_path: Path) -> None:
    editing = EditorSession(Stubborn(), tmp_path, EditSettings())
    plain = [replace(sample, steps=()) for sample in stepped(bench)]
    with pytest.raises(CrevalError, match="give `judge`"):
        StrategyRunner(editing, "M", plain, Strategy(best_of=2))
    with pytest.raises(CrevalError, match="has none"):
        StrategyRunner(editing, "M", plain, Strategy(sequential=True))
    with pytest.raises(CrevalError, match="give `reasoner`"):
        StrategyRunner(editing, "M", plain, Strategy(reasoned=True))


def test_a_plan_is_appended_to_the_instruction(bench: Path, tmp_path: Path) -> None:
    sample = open_benchmark(bench).dataset.samples[0]
    seen: list[str] = []

    class Listening(Stubborn):
        async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
            seen.append(job.instruction)
            return await super().edit(job, ticket)

    editing = EditorSession(Listening(), tmp_path, EditSettings())

    def think(stage: str, wanted: Mapping[str, PlanRequest]) -> PlanResults:
        assert stage == "step 1"
        assert wanted == {sample.id: PlanRequest(sample.instruction, sample.source)}
        return PlanResults({sample.id: "First the hat."})

    StrategyRunner(editing, "M", [sample], Strategy(reasoned=True), planner=think).run()
    assert seen == [f"{sample.instruction}\n\nFirst the hat."]

    def fail(_: str, wanted: Mapping[str, PlanRequest]) -> PlanResults:
        return PlanResults({}, dict.fromkeys(wanted, "it declined"))

    found = StrategyRunner(editing, "M", [sample], Strategy(reasoned=True), planner=fail).run()
    (edit,) = found.edits.values()
    assert (edit.status, edit.reason) == (EditStatus.FAILED, "no plan: it declined")
    assert len(seen) == 1, "without a plan, no edit is requested"


@pytest.mark.slow
def test_the_best_of_several_is_as_good_as_the_pool_says(bench: Path, tmp_path: Path) -> None:
    check_best_of(bench, tmp_path, "truth")


@pytest.mark.study
def test_the_best_of_several_as_pixel_picks_it(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 45, 8)
    check_best_of(tmp_path / "bench", tmp_path, "pixel")


def check_best_of(bench: Path, folder: Path, judge: str) -> None:
    """Check that S rises with N and is within three standard errors of the resampled expectation."""
    benchmark = open_benchmark(bench)
    samples = benchmark.dataset.samples
    pool = _pool(benchmark, bench, folder / "pool", judge)
    means = []
    for count in (1, 2, 4, 8):
        editing = EditorSession(Mixed(bench), folder / f"M{count}", EditSettings(seed=100))
        pick = make_selector(benchmark, judge, folder / f"M{count}", lambda _: Settings())
        found = StrategyRunner(editing, "M", samples, Strategy(best_of=count), selector=pick).run()
        if count > 1:
            assert all(edit.metadata["picked_from"] == count for edit in found.edits.values())
        edits = {(sample.id, 0): found.edits[EditKey("M", sample.id)] for sample in samples}
        mean = float(np.mean(list(_judged(benchmark, judge, folder / f"S{count}", edits).values())))
        chance = np.random.default_rng(0)
        draws = np.array([[chance.choice(row, count, replace=True).max() for row in pool] for _ in range(500)]).mean(
            axis=1
        )
        assert abs(mean - draws.mean()) <= 3 * draws.std() + 1e-9
        means.append(mean)
    assert means == sorted(means)
    assert means[-1] > means[0] + 3, "N = 8 is clearly better than one candidate"


def _judged(
    benchmark: Benchmark, judge: str, folder: Path, edits: Mapping[tuple[str, int], Edit]
) -> dict[tuple[str, int], float]:
    """Return S of each edit, from the judge's answers only."""
    for (sample, draw), edit in edits.items():
        (folder / "M").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(edit.image or "", folder / "M" / f"{sample}--{draw}.png")
    ask(benchmark, [folder / "M"], judge, folder / "run")
    weights = {"IF": 0.4, "VC": 0.4, "VQ": 0.2}
    found = {}
    with open_run(folder / "run") as run:
        for key, values in run.values_by_edit():
            scores = benchmark.protocol.score(run.samples[key.sample], run.probes[key.sample], values)
            found[key.sample, key.draw] = sum(
                weight * (scores[metric].value or 0.0) for metric, weight in weights.items()
            )
    return found


def _pool(benchmark: Benchmark, bench: Path, folder: Path, judge: str) -> Floats:
    """Return the judged scores of eight draws of the same editor."""
    editing = EditorSession(Mixed(bench), folder, EditSettings())
    edits: dict[tuple[str, int], Edit] = {}
    for draw in range(8):
        editing.settings = EditSettings(seed=1000 + draw)
        samples = benchmark.dataset.samples
        found = StrategyRunner(editing, f"M{draw}", samples, Strategy()).run()
        edits |= {(key.sample, draw): edit for key, edit in found.edits.items()}
    scores = _judged(benchmark, judge, folder / "judged", edits)
    return np.array([[scores[s.id, draw] for draw in range(8)] for s in samples])


def test_a_folder_says_what_is_not_there_and_why(bench: Path, tmp_path: Path) -> None:
    """Images are saved under their samples' names, and missing ones have a reason."""
    samples = open_benchmark(bench).dataset.samples[:3]

    class Choosy(SimulatedEditor):
        async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
            if job.sample == samples[1].id:
                raise CallError("content filter", "not this", retryable=False)
            return await super().edit(job, ticket)

    folder = tmp_path / "Choosy"
    editing = EditorSession(Choosy("x", "lazy", EditorOptions(benchmark_folder=bench)), folder, EditSettings())
    finished = StrategyRunner(editing, "Choosy", samples, Strategy()).run()
    with RunWriter(folder) as store, store.transaction():
        store.put_manifest({"editor": "x", "protocol": "creval", "benchmark": "creval"})
    save_edits(folder, finished)
    assert sorted(path.name for path in folder.glob("*.png")) == [f"{samples[0].id}.png", f"{samples[2].id}.png"]
    found = {edit.key.sample: edit for edit in find_edits([folder], samples).edits}
    assert found[samples[1].id].status is EditStatus.REFUSED
    assert found[samples[1].id].reason == "content filter: not this"
    assert found[samples[0].id].metadata["size"] == [768, 768]
    evil = {EditKey("M", "../out"): Edit(EditKey("M", "../out"))}
    with pytest.raises(CrevalError, match="points outside its folder"):
        save_edits(folder, StrategyResult(edits=evil))


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/out", "..", ".", "a/.", "x" * 250, "\0"])
def test_names_that_no_file_in_the_folder_can_have(tmp_path: Path, name: str) -> None:
    assert invalid_path_reason(tmp_path, name).startswith("has a")
    with pytest.raises(CrevalError, match=r"^the sample .* has an?"):
        sample_image_stem(tmp_path, name)
    lost = Edit(EditKey("M", name), EditStatus.FAILED, reason="its name")
    save_edits(tmp_path / "M", StrategyResult(edits={lost.key: lost}))
    with RunWriter(tmp_path / "M") as store:
        assert store.edits[lost.key].reason == "its name"


def test_names_with_folders_are_placed(tmp_path: Path) -> None:
    assert sample_image_stem(tmp_path, "a/b c--1") == tmp_path / "a" / "b c--1"
