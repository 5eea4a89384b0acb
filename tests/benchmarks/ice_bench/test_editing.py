"""Tests of editing ICE-Bench: an editor that does not take a task's inputs does not support the task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.cli.edit import _edit_output
from creval.core.benchmark import Benchmark
from creval.core.edit_record import EditKey, EditStatus
from creval.editing.edit_run import EditRun, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions, EditOutput, EditRequest, PendingTask
from creval.editors.function import FunctionEditor
from creval.providers.call_errors import CallError
from creval.store.edit_folders import find_edits
from tests.benchmarks.ice_bench.release_files import read_lines, write_lines, write_release

MASKED = {task.name for task in TASKS.values() if task.has_mask}
REFERRED = {task.name for task in TASKS.values() if task.reference_metric}
CREATING = {task.name for task in TASKS.values() if not task.has_source}
seen: list[str] = []


def turned(source: Image.Image | None, instruction: str) -> Image.Image:
    seen.append(instruction)
    return Image.new("RGB", (8, 8), "red") if source is None else source.rotate(180)


def masked(source: Image.Image | None, instruction: str, mask: Any = None) -> Image.Image:
    del mask
    return turned(source, instruction)


def referred(source: Image.Image | None, instruction: str, references: Any = ()) -> Image.Image:
    del references
    return turned(source, instruction)


def given(source: Image.Image | None, instruction: str, mask: Any = None, references: Any = ()) -> Image.Image:
    del mask, references
    return turned(source, instruction)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return open_benchmark(write_release(tmp_path_factory.mktemp("ice"), each=1))


def run_of(
    benchmark: Benchmark, editor: str | Callable[..., Any], out: Path, use: StrategyOptions | None = None
) -> EditRun:
    return EditRun(
        benchmark,
        benchmark.dataset.samples,
        editor,
        out,
        use or StrategyOptions(),
        EditorOptions(),
        EditSettings(attempts=1),
        dry_run=use is not None,
    )


def tasks(benchmark: Benchmark, out: Path) -> dict[EditStatus, set[str]]:
    """Return the tasks in a folder by the status of their edits."""
    dataset = benchmark.dataset
    names = {sample.id: sample.tags["task"] for sample in dataset.samples}
    found = defaultdict(set)
    for edit in find_edits([out], dataset.samples, dataset.match_edit_file, dataset.read_model_outputs).edits:
        found[edit.status].add(names[edit.key.sample])
    return found


@pytest.mark.parametrize(
    ("editor", "unable"),
    [
        (turned, MASKED | REFERRED),
        (masked, REFERRED),
        (referred, MASKED),
        ("command:cp {source} {output}", MASKED | REFERRED | CREATING),
        ("command:sh -c 'cp {source} {output}' {mask}", REFERRED | CREATING),
    ],
)
def test_editors_that_cannot_take_all_inputs_do_not_support_the_task(
    benchmark: Benchmark, tmp_path: Path, editor: str | Callable[..., Any], unable: set[str]
) -> None:
    """Unsupported tasks are known before the first call."""
    before = len(seen)
    run = run_of(benchmark, editor, tmp_path / "M")
    left = 31 - len(unable)
    assert run.estimate()[0].calls == left
    edited = run.run()
    assert tasks(benchmark, tmp_path / "M") == {EditStatus.UNSUPPORTED: unable, EditStatus.DONE: TASKS.keys() - unable}
    assert edited.progress.requests_sent == left
    assert len(seen) - before == (left if callable(editor) else 0)
    assert all(" takes no " in reason or "needs a" in reason for reason, _ in edited.reasons)
    assert edited.share_missing == 0
    notes = " ".join(_edit_output(edited).notes)
    assert "use the instruction alone" not in notes
    assert "Repeat the command" not in notes


def test_edits_reported_as_unsupported_are_not_missing(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = FunctionEditor.edit

    async def choosy(self: FunctionEditor, job: EditRequest, ticket: PendingTask) -> EditOutput:
        if job.source is None:
            raise CallError("unsupported", "it only edits", retryable=False)
        return await edit(self, job, ticket)

    monkeypatch.setattr(FunctionEditor, "edit", choosy)
    edited = run_of(benchmark, turned, tmp_path / "M").run()
    assert edited.unsupported_count == len(MASKED | REFERRED | CREATING)
    assert edited.share_missing == 0


def test_other_benchmarks_leave_the_input_out_with_a_note(benchmark: Benchmark, tmp_path: Path) -> None:
    other = replace(benchmark, dataset=replace(benchmark.dataset, requires_all_inputs=False))
    edited = run_of(other, turned, tmp_path / "M").run()
    assert edited.statuses == {"done": 31}
    assert sum("use the instruction alone" in note for note in edited.notes) == 2


def test_unsupported_samples_get_no_plan(benchmark: Benchmark, tmp_path: Path) -> None:
    use = StrategyOptions("reasoned", reasoner="openai:gpt-4o")
    run = run_of(benchmark, turned, tmp_path / "M", use)
    calls = {made.role: made.calls for made in run.estimate()}
    assert set(calls.values()) == {31 - len(MASKED | REFERRED)}


def renamed(release: Path, *names: str) -> Benchmark:
    """Return a release whose first items have the given ids."""
    path = release / "dataset" / "data.jsonl"
    lines = read_lines(path)
    for line, name in zip(lines, names, strict=False):
        line["ItemID"] = name
    write_lines(path, lines)
    return open_benchmark(release)


def test_ids_that_are_no_file_names_are_skipped(tmp_path: Path) -> None:
    names = ("../../../evil", "x" * 250, "..", "nul\0", ".hid", "a/.b/c")
    benchmark = renamed(write_release(tmp_path / "ICE", each=1), *names)
    problems = [f.location for f in benchmark.dataset.issues if f.rule == "id is not a file name"]
    assert problems == [name[:200] for name in names]
    edited = run_of(benchmark, masked, tmp_path / "out" / "M").run()
    skipped = [key.sample for key, edit in edited.strategy_result.edits.items() if edit.status == "impossible"]
    assert skipped == list(names)
    unable = len(REFERRED - CREATING)
    assert edited.statuses == {"impossible": 6, "unsupported": unable, "done": 25 - unable}
    assert "Repeating" not in " ".join(_edit_output(edited).notes), "they can never be edited"
    assert {path.name for path in tmp_path.rglob("*evil*")} == set()
    assert len(list((tmp_path / "out" / "M").glob("*.png"))) == 25 - unable


def test_edits_are_found_by_their_ids(tmp_path: Path) -> None:
    """Ids are also unambiguous if they look like a path, the draw of another id, or the end of another id."""
    names = ("x/a", "y/a", "a", "a--2", "z/b--1", "b", "c d|é")
    benchmark = renamed(write_release(tmp_path / "ICE", each=1), *names)
    dataset = benchmark.dataset
    rules = {finding.rule for finding in dataset.issues}
    assert "id is not a file name" not in rules
    chosen = [sample for sample in dataset.samples if sample.id in names]
    folder = tmp_path / "M"
    edited = EditRun(benchmark, chosen, given, folder, StrategyOptions(), EditorOptions(), EditSettings()).run()
    assert edited.statuses == {"done": len(names)}
    found = find_edits([folder], dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
    there = {e.key: e.image for e in found.edits if e.status is EditStatus.DONE}
    assert there == {EditKey("M", name): folder / f"{name}.png" for name in names}
    assert found.unmatched_files == []


def test_images_in_a_folder_inside(tmp_path: Path) -> None:
    benchmark = renamed(write_release(tmp_path / "ICE", each=1), "a", "a--2", "x/b")
    dataset = benchmark.dataset
    for name in ("images/a", "images/a--1", "images/a--2", "images/a--2--1", "old/x/b", "images/z"):
        path = tmp_path / "M" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    found = find_edits([tmp_path / "M"], dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
    there = {e.key[1:]: e.image for e in found.edits if e.status is EditStatus.DONE}
    assert there == {
        ("a", 0): tmp_path / "M/images/a.png",
        ("a", 1): tmp_path / "M/images/a--1.png",
        ("a--2", 0): tmp_path / "M/images/a--2.png",
        ("a--2", 1): tmp_path / "M/images/a--2--1.png",
        ("x/b", 0): tmp_path / "M/old/x/b.png",
    }
    assert found.unmatched_files == [f"{tmp_path}/M/images/z.png"]


def test_missing_inputs_of_the_benchmark_are_not_unsupported(tmp_path: Path) -> None:
    """They would count as 0. One item's source is missing, and another's mask, which the editor does not take."""
    release = write_release(tmp_path / "ICE", each=1)
    samples = {sample.tags["task"]: sample for sample in open_benchmark(release).dataset.samples}
    lost = (samples["Color Editing"].source, samples["Inpainting"].mask)
    for path in lost:
        assert path is not None
        path.unlink()
    benchmark = open_benchmark(release)
    edited = run_of(benchmark, referred, tmp_path / "M").run()
    found = tasks(benchmark, tmp_path / "M")
    assert found[EditStatus.IMPOSSIBLE] == {"Color Editing", "Inpainting"}
    assert found[EditStatus.UNSUPPORTED] == MASKED - {"Inpainting"}
    assert {reason for reason, _ in edited.reasons} >= {
        f"in the benchmark, {path.name} does not exist" for path in lost if path is not None
    }
