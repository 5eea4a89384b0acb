"""Judging folders of `creval edit`: images, and the reasons of missing ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.core.edit_record import EditStatus
from creval.judging.judge_run import judge
from creval.reporting import missing_edits
from creval.store import open_run
from creval.touchstone.builder import build_touchstone
from tests.editing.made import Choosy, edited


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited") / "bench"
    build_touchstone(folder, 6, 3)
    return folder


def test_why_an_edit_is_not_there_reaches_the_scores(bench: Path, tmp_path: Path) -> None:
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    folder = edited(bench, tmp_path / "M", Choosy(bench, "faithful", names[:2]))
    (folder / f"{names[2]}.png").unlink()
    done = judge(open_benchmark(bench), [folder], "truth", tmp_path / "run")
    assert done.missing_edits == {"M": {EditStatus.REFUSED: 2, EditStatus.ABSENT: 1}}
    with open_run(tmp_path / "run") as run:
        left_out, counted = (score(run, resamples=100, missing=r) for r in ("exclude", "zero"))
        found = missing_edits.missing_from_table(run, counted.table)
        assert missing_edits.missing_sentences(found) == [
            "M has 3 missing edits: 2 refused (content filter: not this); 1 absent."
        ]
        assert missing_edits.missing_policy_sentences(counted.table, found) == [
            "Edits that are refused or absent count as failed: 0 in IF, VC and VQ."
        ]
    whole = left_out.cell("M", "S").value
    assert whole is not None
    assert counted.cell("M", "S").value == pytest.approx(whole / 2)


def test_inputs_missing_from_the_benchmark_are_no_failures(bench: Path, tmp_path: Path) -> None:
    """One model was run by creval; the other's folder just lacks the image."""
    lacking = tmp_path / "bench"
    shutil.copytree(bench, lacking)
    lost, broken, *_ = (sample for sample in open_benchmark(lacking).dataset.samples)
    assert lost.source is not None
    assert broken.source is not None
    lost.source.unlink()
    broken.source.write_bytes(broken.source.read_bytes()[:3000])
    ours = edited(lacking, tmp_path / "M", Choosy(lacking, "forgetful"))
    theirs = tmp_path / "Other"
    shutil.copytree(ours, theirs, ignore=lambda *_: ["creval.db", ".made"])
    judge(open_benchmark(lacking), [ours, theirs], "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        left_out, counted = (score(run, resamples=100, missing=r) for r in ("exclude", "zero"))
        found = missing_edits.missing_from_table(run, counted.table)
        told, rule = (
            missing_edits.missing_sentences(found),
            missing_edits.missing_policy_sentences(counted.table, found),
        )
    for column in ("IF", "VC", "VQ", "S"):
        assert counted.cell("M", column) == left_out.cell("M", column)
    for line in told:
        assert "has 2 missing edits: 2 impossible (in the benchmark, " in line
        assert f"{lost.source.name} does not exist" in line
    assert len(told) == 2
    assert rule == ["Edits that are impossible are left out of the scores."]


def test_the_status_of_an_absent_edit_is_updated_later(bench: Path, tmp_path: Path) -> None:
    """An image is absent at the first judging. The second one finds that it was refused."""
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    folder = edited(bench, tmp_path / "M", Choosy(bench, "lazy", names[:1]))
    plain = tmp_path / "plain" / "M"
    shutil.copytree(folder, plain, ignore=lambda *_: ["creval.db", ".made"])
    for given in (plain, folder):
        judge(open_benchmark(bench), [given], "truth", tmp_path / "run")
        with open_run(tmp_path / "run") as run:
            (gone,) = run.missing_edits()
        assert gone.edit.sample == names[0]
        assert gone.status is (EditStatus.ABSENT if given == plain else EditStatus.REFUSED)


def test_a_model_that_refuses_everything_is_judged(bench: Path, tmp_path: Path) -> None:
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    none = edited(bench, tmp_path / "Prude", Choosy(bench, "lazy", names))
    some = edited(bench, tmp_path / "M", Choosy(bench, "lazy"))
    judge(open_benchmark(bench), [none, some], "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        assert score(run, resamples=100).cell("Prude", "S").value is None
        assert score(run, resamples=100, missing="zero").cell("Prude", "S").value == 0


def test_a_limit_leaves_the_rest_alone(bench: Path, tmp_path: Path) -> None:
    """Samples outside of a run's selection are not missing in it."""
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    folder = edited(bench, tmp_path / "M", Choosy(bench, "faithful", names[1:]))
    judge(open_benchmark(bench), [folder], "truth", tmp_path / "run", Settings(limit=1))
    with open_run(tmp_path / "run") as run:
        assert run.missing_edits() == []
        card = score(run, resamples=100, missing="zero")
    alone = card.cell("M", "S", names[0], "sample").value
    assert alone is not None
    assert card.cell("M", "S").value == pytest.approx(alone)
