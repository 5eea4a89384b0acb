"""Candidates of best-of: taken from another folder, and picked by the mean of several judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions
from creval.judging.plan import select_samples
from creval.store import open_run
from creval.store.provenance import read_call_costs
from creval.touchstone.builder import build_touchstone


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("candidates")
    build_touchstone(folder / "bench", 6, 3)
    return folder / "bench"


def run_of(bench: Path, out: Path, editor: str = "touchstone:forgetful", limit: int = 3, **use: Any) -> EditRun:
    benchmark = open_benchmark(bench)
    samples = select_samples(benchmark, limit=limit)
    return EditRun(benchmark, samples, editor, out, StrategyOptions(**use), EditorOptions(), EditSettings())


def test_a_larger_n_reuses_the_candidates_of_a_smaller_one(bench: Path, tmp_path: Path) -> None:
    two, four = tmp_path / "two", tmp_path / "four"
    small = run_of(bench, two, strategy="best-of:2", judge="truth").run()
    large = run_of(bench, four, strategy="best-of:4", judge="truth", candidates=two)
    assert (large.estimate()[0].calls, large.estimate()[0].cached) == (6, 6)
    edited = large.run()
    assert edited.progress.requests_sent == 3 * 2, "only candidates 3 and 4 are new"
    assert read_call_costs(four).calls == 6, "reused candidates are no calls of this folder"
    for key, edit in small.strategy_result.intermediate.items():
        again = edited.strategy_result.intermediate[key._replace(model="four")]
        assert edit.image is not None
        assert again.image is not None
        assert again.image.parent != edit.image.parent
        assert again.image.read_bytes() == edit.image.read_bytes()
    assert run_of(bench, four, strategy="best-of:4", judge="truth").run().progress.requests_sent == 0, "they are kept"


def test_the_edit_without_candidates_is_the_first_candidate(bench: Path, tmp_path: Path) -> None:
    run_of(bench, tmp_path / "one").run()
    found = run_of(bench, tmp_path / "two", strategy="best-of:2", judge="truth", candidates=tmp_path / "one").run()
    assert found.progress.requests_sent == 3
    back = run_of(bench, tmp_path / "direct", candidates=tmp_path / "two").run()
    assert back.progress.requests_sent == 0
    for path in (tmp_path / "one").glob("*.png"):
        assert (tmp_path / "direct" / path.name).read_bytes() == path.read_bytes()


def test_steps_reuse_what_begins_from_the_same_image(bench: Path, tmp_path: Path) -> None:
    use: dict[str, Any] = {"judge": "truth", "limit": 2}
    run_of(bench, tmp_path / "two", strategy="sequential+best-of:2", **use).run()
    large = run_of(bench, tmp_path / "three", strategy="sequential+best-of:3", candidates=tmp_path / "two", **use)
    edited = large.run()
    all_images = len(edited.strategy_result.intermediate)
    assert 0 < edited.progress.requests_sent < all_images
    assert edited.progress.cached + edited.progress.requests_sent == all_images


def test_other_editors_settings_and_folders_are_not_reused(bench: Path, tmp_path: Path) -> None:
    run_of(bench, tmp_path / "one").run()
    with pytest.raises(CrevalError, match=r"was made by touchstone:forgetful, not by touchstone:lazy"):
        run_of(bench, tmp_path / "two", "touchstone:lazy", candidates=tmp_path / "one")
    with pytest.raises(CrevalError, match="same folder"):
        run_of(bench, tmp_path / "one", candidates=tmp_path / "one")
    with pytest.raises(CrevalError, match="not a folder of edits"):
        run_of(bench, tmp_path / "two", candidates=tmp_path / "absent")
    benchmark = open_benchmark(bench)
    samples = select_samples(benchmark, limit=3)
    seeded = EditRun(
        benchmark,
        samples,
        "touchstone:forgetful",
        tmp_path / "two",
        StrategyOptions(candidates=tmp_path / "one"),
        EditorOptions(),
        EditSettings(seed=7),
    )
    assert seeded.run().progress.requests_sent == 3, "another seed is another request"


def test_a_damaged_image_is_made_again(bench: Path, tmp_path: Path) -> None:
    run_of(bench, tmp_path / "one").run()
    for image in (tmp_path / "one" / ".made").glob("*.png"):
        image.unlink()
    assert run_of(bench, tmp_path / "two", candidates=tmp_path / "one").run().progress.requests_sent == 3


def test_the_pick_is_by_the_mean_of_several_judgements(bench: Path, tmp_path: Path) -> None:
    use: dict[str, Any] = {"strategy": "best-of:3", "judge": "noisy:0.7,0.7"}
    edited = run_of(bench, tmp_path / "M", repeat=3, **use).run()
    (run,) = (tmp_path / "M").glob(".judged/*/run")
    with open_run(run) as opened:
        answers: dict[tuple[str, int, str], list[float]] = {}
        for row in opened.answers():
            if row.value is not None:
                answers.setdefault((row.edit.sample, row.edit.draw, row.probe), []).append(row.value)
        assert {len(values) for values in answers.values()} == {3}
        protocol = open_benchmark(bench).protocol
        for key, edit in edited.strategy_result.edits.items():
            sample, probes = opened.samples[key.sample], opened.probes[key.sample]
            scores = edit.metadata["scores"]
            for draw in (1, 2, 3):
                means = {
                    probe.id: float(np.mean(answers[key.sample, draw, probe.id]))
                    for probe in probes
                    if (key.sample, draw, probe.id) in answers
                }
                by_metric = protocol.score(sample, probes, means)
                expected = sum(
                    weight * (by_metric[name].value or 0) for name, weight in {"IF": 0.4, "VC": 0.4, "VQ": 0.2}.items()
                )
                assert scores[draw] == pytest.approx(expected)
            best = max(scores, key=lambda draw: (scores[draw], -draw))
            candidates = {k.draw: e for k, e in edited.strategy_result.intermediate.items() if k.sample == key.sample}
            assert candidates[best].image == edit.image
    with pytest.raises(CrevalError, match=r"created with `repeat` 3, not 1"):
        run_of(bench, tmp_path / "M", **use).run()
    with pytest.raises(CrevalError, match=r"`repeat` is for best-of"):
        run_of(bench, tmp_path / "N", repeat=3)


def test_scores_over_the_number_of_candidates(bench: Path, tmp_path: Path) -> None:
    from creval.analysis.scoring import score
    from creval.judging.judge_run import judge
    from creval.reporting.plots import best_of
    from creval.store.provenance import read_provenance

    run_of(bench, tmp_path / "one", limit=6).run()
    for n, before in ((2, "one"), (4, "best2")):
        use: dict[str, Any] = {"strategy": f"best-of:{n}", "judge": "truth", "candidates": tmp_path / before}
        run_of(bench, tmp_path / f"best{n}", limit=6, **use).run()
    folders = [tmp_path / name for name in ("one", "best2", "best4")]
    judge(open_benchmark(bench), folders, "truth", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        card, made = score(run, resamples=100), read_provenance(run.manifest)
    values = [card.cell(name, "S").value for name in ("one", "best2", "best4")]
    assert values == sorted(values, key=lambda value: value or 0), "picked by the same judge, more are never worse"
    figure = best_of(card, made, metrics=["S"])
    (panel,) = [axes for part in figure.subfigs for axes in part.axes if axes.lines]
    (line,) = [line for line in panel.lines if line.get_linestyle() != "None"]
    assert np.asarray(line.get_ydata()).tolist() == values
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "2", "4"]
    with pytest.raises(CrevalError, match="different numbers of candidates"):
        best_of(card, {"one": made["one"]})
