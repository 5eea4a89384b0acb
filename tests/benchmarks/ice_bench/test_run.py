"""Tests of a run of ICE-Bench with generated values: every cell is compared with a spreadsheet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import pytest

import creval.judging.metric_models as gauging
from creval.analysis.scoring import score
from creval.api.describe import describe_benchmark
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.protocol import SCHEMA
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging.judge_run import JudgeRun, judge
from creval.judging.summary import JudgeSummary
from creval.reporting import sentences
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.ice_bench.made import ABLE, made_of
from tests.benchmarks.ice_bench.release_files import identity, write_edits, write_release
from tests.benchmarks.ice_bench.sheet import compared
from tests.serving import serving


def test_every_cell_equals_a_spreadsheet(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        assert compared(run, ABLE, each=3) == 207 + 12 + 46


def test_a_face_that_the_reference_lacks_leaves_the_mean(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        answers = [a for a in run.answers("Everything") if a.probe == "face"]
    there = [a.value for a in answers if a.value is not None]
    assert 0 < len(there) < len(answers) == 6
    assert {a.explanation for a in answers if a.value is None} == {"there is no face in the reference"}
    cells = [card.cell("Everything", "REF", name) for name in ("Face Reference Creating", "Face Swap")]
    assert sum(cell.scored for cell in cells) == len(there)
    assert sum(cell.total for cell in cells) == 6


def test_questions_per_model(made: tuple[Path, JudgeSummary]) -> None:
    run, done = made
    assert done.statuses == {"Everything": {"answered": 66}}
    assert set(done.missing_edits) == {"Painter", "Steered"}
    assert done.share_unanswered == 0
    with open_run(run) as opened:
        card = score(opened, resamples=100)
        assert opened.unsupported > {("Painter", identity(TASKS["Face Swap"], 0))}
        assert len(opened.unsupported) == 3 * (30 + 26)
        (said,) = sentences.unsupported_sentences(card.table)
    assert "Unsupported samples, of 93: Painter 90, Steered 78." in said
    assert card.table.unasked == dict.fromkeys(sorted(ABLE), 0)
    cell = card.cell("Painter", "score")
    assert (cell.scored, cell.total) == (9, 9)
    assert card.cell("Painter", "score", identity(TASKS["Face Swap"], 0), "sample").value is None
    assert {(d.first, d.second): d.samples for d in card.differences}["Everything", "Painter"] >= 90


def test_scores_of_a_run_in_the_released_way(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        papers, theirs = (score(run, resamples=100, weights=w) for w in (None, "released"))
        values = [v for k, v in run.values_by_edit() if k.model == "Steered" and "grey" in v]
    colours = mean(1.5 * (v["clip_cap"] or 0) + 0.25 * (v["colorfulness"] or 0) for v in values)
    assert theirs.cell("Steered", "PF", "Image Colorization").value == pytest.approx(colours)
    for column in ("AES", "CTRL"):
        assert theirs.cell("Steered", column) == papers.cell("Steered", column)
    apart = [card.cell("Steered", "PF", "Image Colorization").value for card in (papers, theirs)]
    whole = [card.cell("Steered", "score").value for card in (papers, theirs)]
    changed = 0.2 * ((apart[0] or 0) - (apart[1] or 0)) / 31
    assert (whole[0] or 0) - (whole[1] or 0) == pytest.approx(changed)


def test_real_against_generated_sources(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        values = {key.sample: values["aesthetic"] for key, values in run.values_by_edit() if key.model == "Everything"}
        for kind in ("real", "generated"):
            mine = [
                values[name] or 0.0 for name, sample in run.samples.items() if sample.tags.get("source_type") == kind
            ]
            cell = card.cell("Everything", "AES", kind)
            assert cell.value == pytest.approx(mean(mine) / 10)
            assert cell.total == len(mine) == {"real": 54, "generated": 27}[kind]


def test_no_source_is_missed_where_none_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = write_release(tmp_path, each=1)
    summary = describe_benchmark(release).as_json()
    assert summary["images"] == {"present": 27, "missing": []}
    assert (summary["problems"], summary["repairs"]) == ([], [])
    assert summary["groups"]["tasks"] == dict.fromkeys(TASKS, 1)
    edits = write_edits(release, tmp_path / "M")
    for path in (tmp_path / "dataset" / "images").rglob("*_src.png"):
        path.unlink()
    assert len(describe_benchmark(release).as_json()["images"]["missing"]) == 27
    monkeypatch.setattr(gauging, "open_image_metrics", made_of)
    with pytest.raises(CrevalError, match="the source images are missing"):
        judge(open_benchmark(release), [edits], "", tmp_path / "run", Settings(metrics=("SRC",)))


def test_only_the_chosen_dimensions_have_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deblurring's PF uses the same metric as IMG, but has a value only if PF is chosen."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M")
    monkeypatch.setattr(gauging, "open_image_metrics", made_of)
    with serving(FakeServer().app()) as url:
        for chosen in (("AES", "IMG"), ("PF",)):
            folder = tmp_path / chosen[0]
            settings = Settings(metrics=chosen)
            judge(open_benchmark(release), [edits], f"openai:m@{url}/v1", folder, settings)
            with open_run(folder) as run:
                card = score(run, resamples=50)
            for task in ("Image Deblurring", "Color Editing"):
                found = {c: card.cell("M", c, task).value for c in SCHEMA.columns}
                assert tuple(c for c, value in found.items() if value is not None) == chosen
            there = [c for c in SCHEMA.columns if card.cell("M", c).value is not None]
            assert tuple(there) == chosen


def test_models_for_what_is_not_chosen_are_named_and_not_refused(tmp_path: Path) -> None:
    """The same list of models can be given with every choice of metrics."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M")
    models = {"clip": "no-model", "imaging": "no-model"}

    def made(gauges: Mapping[str, str]) -> JudgeRun:
        settings = Settings(metrics=("AES", "IMG"), metric_models=gauges)
        return JudgeRun(open_benchmark(release), [edits], "", tmp_path / "run", settings)

    said, *others = made(models).warnings()
    assert said == "`metric_models` clip: no selected metric uses it."
    assert others[0].startswith("to measure aesthetic: "), "the step to take first"
    with pytest.raises(CrevalError, match="`metric_models` boxes: none of the chosen metrics uses this model"):
        made(models | {"boxes": "no-model"})


def test_without_a_task_there_is_nothing_to_ask(miniature: Path, tmp_path: Path) -> None:
    folder = next((miniature / "edits").iterdir())
    with pytest.raises(CrevalError, match="'ice-bench' has no questions about"):
        judge(open_benchmark(miniature, "ice-bench"), [folder], "", tmp_path / "run")
