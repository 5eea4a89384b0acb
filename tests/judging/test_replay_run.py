from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.core.edit_record import Edit, EditKey
from creval.core.errors import CrevalError
from creval.judging.replay_run import replay
from creval.store import DATABASE, RunWriter, open_run
from creval.store.manifest import describe_run
from miniature import write_miniature
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complexbench_edit.release_files import write_release


def dump(run: Path) -> list[tuple[object, ...]]:
    with open_run(run) as opened:
        return sorted((*a.edit, a.probe, a.status, a.value, a.raw_answer) for a in opened.answers())


def test_replaying_again_changes_nothing(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature)
    replay(benchmark, miniature / "answers", tmp_path)
    before = dump(tmp_path)
    replay(benchmark, miniature / "answers", tmp_path)
    assert dump(tmp_path) == before
    assert len(before) == 18 * 15 * 3


def test_models_can_be_replayed_one_by_one(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature)
    replay(benchmark, miniature / "answers", tmp_path / "all")
    for model in ("Keeper", "Careful", "Follower"):
        replay(benchmark, miniature / "answers", tmp_path / "each", models=[model])
    assert dump(tmp_path / "each") == dump(tmp_path / "all")


def test_a_broken_file_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    broken = tmp_path / "answers" / "IF" / "Keeper" / "mini_002.json"
    broken.write_text('{"questions": [{"question_id"')
    done = replay(open_benchmark(tmp_path), tmp_path / "answers", tmp_path / "run")
    (name,) = done.unreadable_files
    assert name == "IF/Keeper/mini_002.json"
    assert "not valid JSON" in done.unreadable_files[name]
    with open_run(tmp_path / "run") as run:
        assert run.count_statuses()["Keeper"] == {"answered": 130, "failed": 5}
        cell = score(run, resamples=100).cell("Keeper", "IF")
    assert (cell.scored, cell.total) == (40, 45)


def test_a_run_has_one_benchmark_and_one_judge(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature)
    replay(benchmark, miniature / "answers", tmp_path / "run")
    shutil.copytree(miniature / "answers", tmp_path / "other")
    with pytest.raises(CrevalError, match=r"is a run with the judge 'recorded:answers'"):
        replay(benchmark, tmp_path / "other", tmp_path / "run")


def test_the_run_records_its_origin(miniature_run: Path, miniature: Path) -> None:
    with open_run(miniature_run) as run:
        assert run.manifest["benchmark"] == "creval"
        assert run.manifest["judge"] == "recorded:answers"
        assert run.manifest["answers_folder"] == str((miniature / "answers").resolve())


def test_an_error_does_not_change_an_earlier_run(miniature: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(miniature)
    replay(benchmark, miniature / "answers", tmp_path)
    size = (tmp_path / DATABASE).stat().st_size
    with pytest.raises(CrevalError, match="did you mean 'Keeper'"):
        replay(benchmark, miniature / "answers", tmp_path, models=["keeper"])
    assert (tmp_path / DATABASE).stat().st_size == size


def test_the_order_of_files_does_not_matter(miniature: Path, tmp_path: Path) -> None:
    """The same answers under a shuffled order of questions give the same sample scores."""
    shutil.copytree(miniature, tmp_path / "shuffled")
    for path in (tmp_path / "shuffled" / "answers").glob("*/*/*.json"):
        content = json.loads(path.read_text())
        content["questions"].reverse()
        path.write_text(json.dumps(content))
    benchmark = open_benchmark(miniature)
    replay(benchmark, miniature / "answers", tmp_path / "a")
    replay(benchmark, tmp_path / "shuffled" / "answers", tmp_path / "b")
    assert dump(tmp_path / "a") == dump(tmp_path / "b")


def test_answers_to_other_questions_are_not_mixed_into_a_run(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    answers, run = tmp_path / "answers", tmp_path / "run"
    replay(open_benchmark(tmp_path), answers, run, models=["Careful"])
    path = tmp_path / "bench" / "questions_all" / "VC" / "mini_001.json"
    path.write_text(path.read_text().replace('"answer": "Yes"', '"answer": "No"'))
    with pytest.raises(CrevalError, match="has Careful with other questions"):
        replay(open_benchmark(tmp_path), answers, run, models=["Keeper"])
    replay(open_benchmark(tmp_path), answers, run, models=["Careful"])
    shutil.copytree(answers, tmp_path / "elsewhere" / "answers")
    with pytest.raises(CrevalError, match="has Careful with other answers"):
        replay(open_benchmark(tmp_path), tmp_path / "elsewhere" / "answers", run, models=["Keeper"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_among_the_answers_does_not_block(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    pipe = tmp_path / "answers" / "IF" / "Keeper" / "mini_002.json"
    pipe.unlink()
    os.mkfifo(pipe)
    done = replay(open_benchmark(tmp_path), tmp_path / "answers", tmp_path / "run")
    assert list(done.unreadable_files) == ["IF/Keeper/mini_002.json"]


def test_ids_with_slashes_are_subfolders(tmp_path: Path) -> None:
    """In ComplexBench-Edit and Complex-Edit, ids with slashes are subfolders, and answers are labelled Q1, Q2 ..."""
    chains = write_release(tmp_path / "chains")
    benchmark = open_benchmark(chains)
    for at, sample in enumerate(benchmark.dataset.samples):
        path = tmp_path / "answers" / "score" / "Model" / f"{sample.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"Q1": 5, "Q2": {"answer": 4}, "Q3": at % 6}))
    replay(benchmark, tmp_path / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=50)
        first = benchmark.dataset.samples[0].id
        assert card.cell("Model", "score", first, "sample").value == pytest.approx(100 * 9 / 15)
        assert sum(card.table.unasked.values()) == 0
    rows = [row(number) for number in range(2)]
    benchmark = open_benchmark(write_parquet(tmp_path / "complex", test_real=rows))
    for sample in benchmark.dataset.samples:
        for metric in ("IF", "IP", "PQ"):
            path = tmp_path / "scores" / metric / "Model" / f"{sample.id}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("7" if metric == "PQ" else json.dumps({"reasoning": "", "score": 8}))
    replay(benchmark, tmp_path / "scores", tmp_path / "other")
    with open_run(tmp_path / "other") as run:
        cell = score(run, resamples=50).cell("Model", "O")
        assert cell.value == pytest.approx(23 / 3)
        assert cell.scored == cell.total == 18


def test_a_run_of_another_protocol_is_not_changed(miniature: Path, tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run") as store, store.transaction():
        store.put_manifest(describe_run(open_benchmark(miniature, "clip"), ""))
    with pytest.raises(CrevalError, match="protocol 'clip'"):
        replay(open_benchmark(miniature), miniature / "answers", tmp_path / "run")


def test_existing_edits_keep_their_images(miniature: Path, tmp_path: Path) -> None:
    key = EditKey("Keeper", "mini_003")
    with RunWriter(tmp_path / "run") as store, store.transaction():
        store.put_manifest(describe_run(open_benchmark(miniature), ""))
        store.put_edits([Edit(key, image=Path("there.png"))])
    replay(open_benchmark(miniature), miniature / "answers", tmp_path / "run")
    with RunWriter(tmp_path / "run") as store:
        assert store.edits[key].image == Path("there.png")
