"""Several edits per sample: their names, seeds and statuses, from the folder to the scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import creval
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.core.edit_record import EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions, EditOutput, EditRequest, PendingTask
from creval.judging.judge_run import judge
from creval.judging.plan import select_samples
from creval.providers.call_errors import CallError
from creval.store import open_run
from creval.store.edit_folders import find_edits
from creval.touchstone.builder import build_touchstone
from creval.touchstone.simulated_editor import SimulatedEditor
from tests.commands import creval as command

_seeds: list[int] = []


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("draws") / "bench"
    build_touchstone(folder, 4, 3)
    return folder


def tint(source: Image.Image, instruction: str, seed: int = 0) -> Image.Image:
    """An editor that encodes the seed in the color of the image, and refuses seed 8."""
    del instruction
    _seeds.append(seed)
    if seed == 8:
        raise creval.Refused("not this seed")
    return Image.new("RGB", source.size, (20 * seed, 0, 0))


def run_of(bench: Path, out: Path, editor: Any = tint, draws: int = 1, limit: int | None = 2, **use: Any) -> EditRun:
    benchmark = open_benchmark(bench)
    samples = select_samples(benchmark, limit=limit)
    settings = EditSettings(seed=7)
    return EditRun(benchmark, samples, editor, out, StrategyOptions(**use), EditorOptions(), settings, draws=draws)


def test_each_draw_has_its_own_seed_and_name(bench: Path, tmp_path: Path) -> None:
    first, second = (sample.id for sample in run_of(bench, tmp_path / "M").samples)
    _seeds.clear()
    done = run_of(bench, tmp_path / "M", draws=3).run()
    assert sorted(_seeds) == [7, 7, 8, 8, 9, 9], "a refused request is not retried"
    assert (done.statuses, done.edit_count) == ({"done": 4, "refused": 2}, 6)
    assert done.share_missing == pytest.approx(2 / 6)
    names = sorted(path.name for path in (tmp_path / "M").glob("*.png"))
    assert names == [f"{name}--{draw}.png" for name in (first, second) for draw in (1, 3)]
    with Image.open(tmp_path / "M" / f"{first}--3.png") as image:
        assert image.getpixel((0, 0)) == (180, 0, 0)


def test_draws_are_estimated_and_added_without_buying_one_twice(bench: Path, tmp_path: Path) -> None:
    editor = "touchstone:forgetful"
    (expected,) = run_of(bench, tmp_path / "M", editor, 2).estimate()
    assert (expected.calls, expected.cached) == (4, 0)
    assert run_of(bench, tmp_path / "M", editor, 2).run().progress.requests_sent == 4
    before = {path.name: path.read_bytes() for path in (tmp_path / "M").glob("*.png")}
    (expected,) = run_of(bench, tmp_path / "M", editor, 4, limit=3).estimate()
    assert (expected.calls, expected.cached) == (8, 4)
    more = run_of(bench, tmp_path / "M", editor, 4, limit=3).run()
    assert (more.progress.requests_sent, more.statuses) == (8, {"done": 12})
    assert before.items() <= {path.name: path.read_bytes() for path in (tmp_path / "M").glob("*.png")}.items()
    assert run_of(bench, tmp_path / "M", editor, 2).run().progress.requests_sent == 0
    assert len(list((tmp_path / "M").glob("*.png"))) == 12, "fewer draws remove no images"
    for out, draws in ((tmp_path / "M", 1), (tmp_path / "one", 2)):
        run_of(bench, tmp_path / "one", editor).run()
        with pytest.raises(CrevalError, match="was created with `draws`"):
            run_of(bench, out, editor, draws).run()


def test_steps_follow_their_own_draw(bench: Path, tmp_path: Path) -> None:
    run = run_of(bench, tmp_path / "M", "touchstone:forgetful", 2, strategy="sequential")
    done = run.run()
    steps = {sample.id: len(sample.steps) for sample in run.samples}
    assert done.progress.requests_sent == 2 * sum(steps.values())
    for edit in find_edits([tmp_path / "M"], run.samples).edits:
        assert len(edit.ancestors) == steps[edit.key.sample] - 1
        assert {one.key.draw for one in edit.ancestors} <= {edit.key.draw}


class Picky(SimulatedEditor):
    """A touchstone editor that refuses the second draw."""

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        if job.draw == 1:
            raise CallError("content filter", "not this seed", retryable=False)
        return await super().edit(job, ticket)


def test_a_draw_without_an_image_has_its_reason_and_counts(bench: Path, tmp_path: Path) -> None:
    editor = Picky("picky", "forgetful", EditorOptions(benchmark_folder=bench))
    run = run_of(bench, tmp_path / "M", editor, draws=3)
    run.run()
    found = find_edits([tmp_path / "M"], run.samples)
    states = {(edit.key.sample, edit.key.draw): (edit.status, edit.reason) for edit in found.edits}
    first = run.samples[0].id
    assert len(states) == 6
    assert states[first, 2] == (EditStatus.REFUSED, "content filter: not this seed")
    assert found.provenance["M"].edits == 4
    assert {edit.metadata.get("size") is not None for edit in found.edits if edit.image} == {True}
    benchmark = open_benchmark(bench)
    judge(benchmark, [tmp_path / "M"], "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as judged:
        whole, counted = (score(judged, resamples=100, missing=rule).cell("M", "S") for rule in ("exclude", "zero"))
        assert EditKey("M", first, 2) in [one.edit for one in judged.missing_edits()]
    assert whole.value is not None
    alike = score_of_samples(tmp_path / "run", run)
    assert whole.value == pytest.approx(sum(alike) / len(alike)), (
        "each sample has the same weight, however many draws it has"
    )
    assert counted.value is not None
    assert counted.value < whole.value


def score_of_samples(run: Path, edited: EditRun) -> list[float]:
    with open_run(run) as judged:
        card = score(judged, resamples=100)
    values = [card.cell("M", "S", sample.id, "sample").value for sample in edited.samples]
    return [value for value in values if value is not None]


def test_invalid_combinations_with_draws(bench: Path, tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="`draws` must be 1 or more"):
        run_of(bench, tmp_path / "M", draws=0)
    with pytest.raises(CrevalError, match="`draws` must be 1,000 or less, not 1,000,000,000"):
        run_of(bench, tmp_path / "M", draws=1_000_000_000)
    with pytest.raises(CrevalError, match=r"`draws` keeps every draw, but best-of keeps only one"):
        run_of(bench, tmp_path / "M", "touchstone:lazy", 2, strategy="best-of:2", judge="truth").run()
    benchmark = open_benchmark(bench)
    first, second, *_ = benchmark.dataset.samples
    twins = (first, replace(second, id=f"{first.id}--1"))
    benchmark = replace(benchmark, dataset=replace(benchmark.dataset, samples=twins))
    options = StrategyOptions(), EditorOptions(), EditSettings()
    with pytest.raises(
        CrevalError, match=f"an edit of the sample {first.id} would have the same file name as the sample"
    ):
        EditRun(benchmark, twins, tint, tmp_path / "M", *options, draws=2)


def test_draws_on_the_command_line_and_from_a_folder(bench: Path, tmp_path: Path) -> None:
    words = ["edit", bench, "--limit", "2", "--draws", "2"]
    done = command(*words, "--editor", "touchstone:forgetful", "--out", tmp_path / "M", "--json")
    assert done.returncode == 0, done.stderr
    assert '"draws": 2' in done.stdout
    assert len(list((tmp_path / "M").glob("*--[12].png"))) == 4
    done = command(*words, "--editor", f"folder:{tmp_path / 'M'}", "--out", tmp_path / "copy", "--json")
    assert '"done": 4' in done.stdout, done.stderr
    for path in (tmp_path / "M").glob("*.png"):
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()
