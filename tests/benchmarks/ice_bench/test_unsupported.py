"""Tests of unsupported tasks in ICE-Bench: they count in scores, but are not evidence for differences."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from statistics import mean

import pytest

import creval.judging.metric_models as gauging
from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.judging.summary import JudgeSummary
from creval.reporting import headline, missing_edits
from creval.reporting.commands.comparison_output import comparison_output
from creval.store import open_run
from tests.benchmarks.ice_bench.made import ABLE, made_of, make_run, write_models
from tests.benchmarks.ice_bench.release_files import identity, write_edits, write_release


def test_two_models_of_which_one_does_less(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        found = compare(run, "Everything", "Painter", resamples=100)
    both = [card.cell(name, "score").value or 0.0 for name in ("Everything", "Painter")]
    difference = found.differences["overall", "overall", "score"].value
    samples = found.differences["overall", "overall", "score"].samples
    assert difference == pytest.approx(both[0] - both[1], abs=0.01), "except for one or two faces"
    assert astuple(found.differences["task", "Face Editing", "AES"])[:3] == (None, None, None)
    assert found.differences["task", "Text-to-Image Creating", "AES"].value is not None
    said = comparison_output(found)
    names = [row[0] for row in said.tables[0].rows]
    assert len(names) == len(set(names)), "a category with one group is listed once"
    told = said.sentences
    assert f"on {samples} samples (" in told[0]
    assert told[1].startswith(
        "A sample that a model does not support counts as 0. Unsupported samples, of 93: Painter 90."
    )


def test_on_what_all_models_support(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        for other, task in (("Painter", "Text-to-Image Creating"), ("Steered", "Image Deblurring")):
            whole = score(run, resamples=100, models=("Everything", other))
            card = score(run, resamples=100, models=("Everything", other), common=True)
            assert len(card.table.samples) == 3 * len(ABLE[other])
            for model in ("Everything", other):
                assert card.cell(model, "score", task) == whole.cell(model, "score", task)
                assert (card.cell(model, "score").value or 0) > 0.3
        papers, mine = (
            score(run, resamples=100, models=("Painter",), common=True, weights=weights)
            for weights in (None, {"Text2Image": {"AES": 1.0}})
        )
        assert mine.cell("Painter", "score").value == papers.cell("Painter", "AES").value


def test_unsupported_samples_count_in_a_limited_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = write_release(tmp_path / "ICE")
    edits = write_edits(release, tmp_path / "M", supports=lambda task: task.number == 1)
    monkeypatch.setattr(gauging, "open_image_metrics", made_of)
    judge(open_benchmark(release), [edits], "", tmp_path / "run", Settings(limit=2))
    with open_run(tmp_path / "run") as run:
        card = score(run, resamples=100)
    assert len(card.table.samples) == 2 * 31
    assert card.table.unsupported == {"M": 60}
    own = card.cell("M", "score", "Text-to-Image Creating").value or 0.0
    assert card.cell("M", "score").value == pytest.approx(own / 31)


def test_newly_supported_samples_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored status `unsupported` is replaced if the folder later has an image, or lacks one without declaring it."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M", supports=lambda task: task.number == 1)

    def judged(*, unsupported: str) -> dict[str, int]:
        (edits / "unsupported.txt").write_text(unsupported)
        chosen = Settings(metrics=("AES",))
        judge(open_benchmark(release), [edits], "", tmp_path / "run", chosen)
        with open_run(tmp_path / "run") as run:
            rows = run._connection.execute("SELECT status, count(*) FROM edits GROUP BY 1")
            return dict(rows.fetchall())

    monkeypatch.setattr(gauging, "open_image_metrics", made_of)
    assert judged(unsupported="") == {"done": 1, "absent": 30}
    assert judged(unsupported="Local Editing") == {"done": 1, "absent": 24, "unsupported": 6}
    (edits / "images" / f"{identity(TASKS['Inpainting'], 0)}.png").write_bytes(
        next((edits / "images").iterdir()).read_bytes()
    )
    later = "\n".join(str(number) for number in range(18, 23))
    assert judged(unsupported=later) == {"done": 2, "absent": 24, "unsupported": 5}


def test_samples_that_all_support(made: tuple[Path, JudgeSummary]) -> None:
    """Tasks that one model does not support are left out for all. The others keep their scores, also with other
    weights."""
    two = ("Everything", "Steered")
    with open_run(made[0]) as run:
        for weights in (None, {"AES": 1.0}):
            all_ = score(run, resamples=100, weights=weights)
            card = score(run, resamples=100, weights=weights, models=two, common=True)
            tasks = {run.samples[name].tags["task"] for name in card.table.samples}
            assert {TASKS[task].number for task in tasks} == ABLE["Steered"]
            for name in card.table.samples:
                for model in two:
                    place = (model, "score", name, "sample")
                    assert card.cell(*place).value == all_.cell(*place).value
        found = missing_edits.missing_from_table(run, all_.table)
        assert missing_edits.missing_policy_sentences(all_.table, found) == [], (
            "unsupported samples are reported elsewhere"
        )


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run in which only one dimension was measured."""
    root = tmp_path_factory.mktemp("ice-part")
    write_models(write_release(root / "ICE", each=2), root / "results")
    make_run(root, metrics=("AES",))
    return root / "run"


def test_unsupported_samples_alone_give_no_score(part: Path) -> None:
    """A model without a score for any supported sample has no score, although unsupported samples count as 0."""
    with open_run(part) as run:
        card = score(run, resamples=100)
        found = compare(run, "Painter", "Steered", resamples=100)
    for model in ABLE:
        for level in ("overall", "category", "task_group", "task"):
            for group in card.groups(level):
                cell = card.cell(model, "score", group, level)
                assert astuple(cell)[:3] == (None, None, None), (model, group)
        assert card.cell(model, "AES").value is not None
    assert {astuple(d)[:3] for d in card.differences} == {(None, None, None)}
    assert {d.p for d in card.differences} == {None}
    assert not any(d.is_decided for d in card.differences)
    assert headline.headline_sentence(card) == "No model has a value in score yet."
    assert comparison_output(found).sentences[0] == "Painter and Steered have no score on the same samples."


def test_zeros_for_what_is_not_supported_are_no_evidence(made: tuple[Path, JudgeSummary], part: Path) -> None:
    """An interval needs five samples that the model has edited, a difference five that either model has edited."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
    painter, steered = (card.cell(name, "score") for name in ("Painter", "Steered"))
    assert painter.value is not None
    assert (painter.low, painter.high) == (None, None), "three images"
    assert steered.low is not None, "fifteen images"
    samples = {(d.first, d.second): d.samples for d in card.differences}
    assert samples["Painter", "Steered"] == 18
    with open_run(part) as run:
        found = compare(run, "Painter", "Steered", resamples=100)
    aesthetics = found.differences["overall", "overall", "AES"]
    assert aesthetics.samples == 12
    assert found.differences["task_group", "Global Editing", "AES"].samples == 0


def test_dimensions_without_any_value_are_ignored(tmp_path: Path) -> None:
    """A dimension that could not be measured for any model in a task is ignored there.

    This holds for models that do not support the task, and for models without an image.
    """
    write_models(write_release(tmp_path / "ICE", each=2), tmp_path / "results")
    images = tmp_path / "results" / "Everything" / "images"
    for task in ("Pose-guided Generation", "Edge-guided Generation"):
        (images / f"{identity(TASKS[task], 0)}.png").unlink()
    make_run(tmp_path, metrics=("CTRL",), without=("pose",))
    group = [task.name for task in TASKS.values() if task.group == "Controllable Generation"]
    with open_run(tmp_path / "run") as run:
        for missing_ in ("exclude", "zero"):
            card = score(run, resamples=50, missing=missing_)
            for model in ("Everything", "Steered"):
                tasks = [card.cell(model, "CTRL", task).value for task in group]
                there = [value for value in tasks if value is not None]
                assert [value is None for value in tasks] == [True, *[False] * 4]
                assert card.cell(model, "CTRL", "Controllable Generation").value == (pytest.approx(mean(there)))
        edges = card.cell("Everything", "CTRL", "Edge-guided Generation")
        (whole,) = [answer.value for answer in run.answers("Everything", identity(TASKS["Edge-guided Generation"], 1))]
        assert whole is not None
        assert edges.value == pytest.approx((1 - whole) / 2), "a missing edit scores zero"
