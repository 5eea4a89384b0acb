"""Detection of unchanged edits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from creval.analysis.scoring import score
from creval.analysis.unchanged_edits import scan_for_changes, summarise_unchanged
from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.judging.judge_run import judge
from creval.reporting.plots import plane, save_figure
from creval.store import RunWriter, open_run
from creval.touchstone.builder import build_touchstone

EDITORS = ("faithful", "lazy", "forgetful")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unchanged")
    build_touchstone(folder / "bench", 9, 5, edits=folder / "edits", editors=EDITORS)
    edits = [folder / "edits" / editor for editor in EDITORS]
    (folder / "edits" / "faithful" / "t0009.png").unlink()
    judge(open_benchmark(folder), edits, "truth", folder / "run")
    return folder / "run"


def test_unchanged_edits_and_consistency_of_the_others(run: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert scan_for_changes(run, lambda *count: seen.append(count)) == 0
    assert seen[-1] == (26, 26)
    with open_run(run) as opened:
        card = score(opened, resamples=100)
        found = {one.model: one for one in summarise_unchanged(opened, card)}
    assert found["lazy"].unchanged == (9, 9)
    assert found["faithful"].unchanged == (0, 8)
    assert (found["lazy"].followed_count, found["lazy"].consistency_when_followed) == (0, None)
    assert (found["faithful"].followed_count, found["faithful"].consistency_when_followed) == (8, 100.0)


def test_only_changed_files_are_measured_again(run: Path) -> None:
    scan_for_changes(run)
    seen: list[tuple[int, int]] = []
    scan_for_changes(run, lambda *count: seen.append(count))
    assert seen == []
    image = run.parent / "edits" / "lazy" / "t0001.png"
    os.utime(image, (1, 1))
    scan_for_changes(run, lambda *count: seen.append(count))
    assert seen == [(1, 1)]
    with RunWriter(run) as store, store.transaction():
        for edit in list(store.edits.values()):
            if files := edit.metadata.get("change", {}).get("files"):
                change = {**edit.metadata["change"], "files": [state[:2] for state in files]}
                store.put_edits([edit._replace(metadata={**edit.metadata, "change": change})])
    scan_for_changes(run, lambda *count: seen.append(count))
    assert seen == [(1, 1)], "what older versions stored is known"


def test_a_run_without_images(miniature_run: Path) -> None:
    with pytest.raises(CrevalError, match="no images to compare"):
        scan_for_changes(miniature_run)


def test_a_plot_is_written(run: Path, tmp_path: Path) -> None:
    with open_run(run) as opened:
        save_figure(plane(score(opened, resamples=100)), tmp_path / "plane.svg")
    assert (tmp_path / "plane.svg").stat().st_size > 5000
