"""A run of ICE-Bench with made values: every cell against a spreadsheet, and how it is shown."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

import creval.engine.judge as judging
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench import CARD
from creval.benchmarks.ice_tasks import QA, TASKS, WEIGHTS
from creval.cli.bench import summarise
from creval.core.errors import CrevalError
from creval.core.probe import EditKey
from creval.engine.judge import Judged, judge
from creval.engine.settings import Settings
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit, Unmeasured
from creval.gauges.gauge import Gauge
from creval.judges.fake import FakeServer
from creval.report import answer, asked, missing, plots, sentences, tables
from creval.report.comparison import comparison
from creval.report.page import gallery
from creval.stats.compare import compare
from creval.store import Run, open_run
from creval.store.closeup import CloseUp
from creval.web.snapshot import State, take
from tests.benchmarks.ice_files import identity, write_edits, write_release
from tests.serving import serving

SPANS = {"aesthetic": (3.0, 7.0), "imaging": (30.0, 80.0), "clip_cap": (0.1, 0.35)}


class Made(Gauge):
    """Gives each picture a number of its own, in the range of what it stands for."""

    card = GaugeCard("made", "", (), "")

    def __init__(self, name: str) -> None:
        self.name = name

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        sample, edit = exhibit.sample, exhibit._edit
        if self.name == "face" and sample.references[0].stem.startswith(("0", "1", "2")):
            raise Unmeasured("there is no face in the reference")
        place = int(hashlib.sha256(f"{self.name}{edit}".encode()).hexdigest()[:8], 16) / 2**32
        low, high = SPANS.get(self.name, (0.0, 1.0))
        return {self.name: low + (high - low) * place}


def made_of(names: Iterable[str], _: Mapping[str, str]) -> dict[str, Gauge]:
    return {name: Made(name) for name in names}


ABLE: Mapping[str, frozenset[int]] = {
    "Everything": frozenset(range(1, 32)),
    "Painter": frozenset({1}),
    "Steered": frozenset({4, 24, 25, 26, 27}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Judged]:
    """A run over all tasks, three items each, of models that can do all, some and one of them."""
    root = tmp_path_factory.mktemp("ice-run")
    release = write_release(root / "ICE")
    folders = [
        write_edits(
            release, root / "results" / name, listed=name == "Painter", seed=at,
            supports=lambda task, able=able: task.number in able,  # type: ignore[misc]
        )
        for at, (name, able) in enumerate(ABLE.items())
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, serving(FakeServer().app()) as url:
        patch.setattr(judging, "open_gauges", made_of)
        done = judge(
            open_benchmark(release), folders, f"openai:m@{url}/v1", root / "run", Settings()
        )
    return root / "run", done


def rows_by_task(run: Run) -> dict[str, dict[int, list[dict[str, float]]]]:
    """Each model's rows of each task, one for each item."""
    answers: dict[EditKey, dict[str, float]] = defaultdict(dict)
    for given in run.answers():
        if given.value is not None:
            answers[given.edit][given.probe] = given.value
    found: dict[str, dict[int, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for edit, raw in answers.items():
        number = TASKS[run.samples[edit.sample].tags["task"]].number
        found[edit.system][number].append(sheet(number, raw))
    return found


def sheet(number: int, raw: Mapping[str, float]) -> dict[str, float]:
    """One item's row as somebody would type it into a spreadsheet from the paper."""
    row = {"AES": raw["aesthetic"] / 10, "IMG": raw["imaging"] / 100}
    if number == 27:
        row["PF"] = row["IMG"]
    elif number == 26:
        row["PF"] = raw["clip_cap"] / 0.5 + raw["colorfulness"]
    elif number <= 4 or 23 <= number <= 25:
        row["PF"] = raw["clip_cap"] / 0.5
    else:
        row["PF"] = (raw["clip_cap"] / 0.5 + raw[QA]) / 2
        row["SRC"] = (raw["clip_src"] + 1 - raw["l1_src"]) / 2
    reference = {2: "face", 3: "style", 4: "subject", 28: "style", 29: "subject", 30: "subject",
                 31: "face"}  # fmt: skip
    if number in reference:
        if reference[number] not in raw:
            return row
        row["REF"] = raw[reference[number]]
    control = {23: "pose", 24: "canny", 25: "depth", 26: "grey"}
    if number in control:
        row["CTRL"] = 1 - raw[control[number]]
    if number == 27:
        row["CTRL"] = raw["ssim"]
    if number == 1:
        row["score"] = (row["AES"] + row["IMG"] + row["PF"]) / 3
    elif number <= 4:
        row["score"] = (row["AES"] + row["IMG"] + row["PF"] + row["REF"]) / 4
    elif number <= 22:
        row["score"] = 0.3 * (row["AES"] + row["IMG"] + row["PF"]) + 0.1 * row["SRC"]
    elif number <= 27:
        row["score"] = 0.3 * (row["AES"] + row["IMG"]) + 0.2 * (row["PF"] + row["CTRL"])
    else:
        row["score"] = (
            0.25 * (row["AES"] + row["IMG"]) + 0.2 * (row["PF"] + row["REF"]) + 0.1 * row["SRC"]
        )
    return row


RANGES = {
    "overall": range(1, 32),
    "No-ref Image Creating": range(1, 2),
    "Ref Image Creating": range(2, 5),
    "No-ref Image Editing": range(5, 28),
    "Global Editing": range(5, 17),
    "Local Editing": range(17, 23),
    "Controllable Generation": range(23, 28),
    "Ref Image Editing": range(28, 32),
    **{task.name: range(task.number, task.number + 1) for task in TASKS.values()},
}


def test_every_cell_equals_a_spreadsheet(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        rows = rows_by_task(run)
    groups = {task.number: task.group for task in TASKS.values()}
    compared = 0
    for system, able in ABLE.items():
        assert {number: len(of) for number, of in rows[system].items()} == dict.fromkeys(able, 3)
        for group, tasks in RANGES.items():
            for column in CARD.columns:
                # What is not supported counts zero where the dimension belongs to the task.
                means = {
                    number: mean(row[column] for row in rows[system][number] if column in row)
                    if number in able
                    else 0.0
                    for number in tasks
                    if column in (*WEIGHTS[groups[number]], "score")
                }
                wanted = None if able.isdisjoint(means) else mean(means.values())
                value = card.cell(system, column, group).value
                assert value == pytest.approx(wanted, abs=1e-12), (system, group, column)
                compared += wanted is not None
    assert compared == 201 + 12 + 46


def test_a_face_that_the_reference_lacks_leaves_the_mean(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        answers = [a for a in run.answers("Everything") if a.probe == "face"]
    there = [a.value for a in answers if a.value is not None]
    assert 0 < len(there) < len(answers) == 6
    assert {a.explanation for a in answers if a.value is None} == {
        "there is no face in the reference"
    }
    cells = [
        card.cell("Everything", "REF", name) for name in ("Face Reference Creating", "Face Swap")
    ]
    assert sum(cell.scored for cell in cells) == len(there)
    assert sum(cell.total for cell in cells) == 6


def test_what_was_asked_of_whom(made: tuple[Path, Judged]) -> None:
    run, done = made
    assert done.statuses == {"Everything": {"answered": 66}}
    assert set(done.missing) == {"Painter", "Steered"}
    assert done.share_unanswered == 0
    with open_run(run) as opened:
        card = opened.score(resamples=100)
        assert opened.unsupported > {("Painter", identity(TASKS["Face Swap"], 0))}
        assert len(opened.unsupported) == 3 * (30 + 26)
        (said,) = sentences.unsupported(card.table)
    assert "Samples of 93 that a model does not support count 0: Painter 90, Steered 78." in said
    assert card.table.unasked == dict.fromkeys(sorted(ABLE), 0)
    cell = card.cell("Painter", "score")
    assert (cell.scored, cell.total) == (9, 9)
    assert card.cell("Painter", "score", identity(TASKS["Face Swap"], 0), "sample").value is None
    assert {(d.first, d.second): d.samples for d in card.differences}["Everything", "Painter"] >= 90


def test_scores_of_a_run_in_the_released_way(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        papers, theirs = (run.score(resamples=100, weights=w) for w in (None, "released"))
        values = [v for k, v in run.values() if k.system == "Steered" and "grey" in v]
    colours = mean(1.5 * (v["clip_cap"] or 0) + 0.25 * (v["colorfulness"] or 0) for v in values)
    assert theirs.cell("Steered", "PF", "Image Colorization").value == pytest.approx(colours)
    for column in ("AES", "CTRL"):
        assert theirs.cell("Steered", column) == papers.cell("Steered", column)
    apart = [card.cell("Steered", "PF", "Image Colorization").value for card in (papers, theirs)]
    whole = [card.cell("Steered", "score").value for card in (papers, theirs)]
    changed = 0.2 * ((apart[0] or 0) - (apart[1] or 0)) / 31
    assert (whole[0] or 0) - (whole[1] or 0) == pytest.approx(changed)


def test_two_models_of_which_one_does_less(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        found = compare(run, "Everything", "Painter", resamples=100)
    both = [card.cell(name, "score").value or 0.0 for name in ("Everything", "Painter")]
    difference = found.differences["overall", "overall", "score"].value
    samples = found.differences["overall", "overall", "score"].samples
    assert difference == pytest.approx(both[0] - both[1], abs=0.01), "but for a face or two"
    assert found.differences["task", "Face Editing", "AES"][2:5] == (None, None, None)
    assert found.differences["task", "Text-to-Image Creating", "AES"].value is not None
    told = comparison(found).sentences
    assert f"on {samples} samples (" in told[0]
    assert told[1].startswith("Samples of 93 that a model does not support count 0: Painter 90.")


def test_on_what_all_models_support(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        for other, task in (("Painter", "Text-to-Image Creating"), ("Steered", "Image Deblurring")):
            whole = run.score(resamples=100, systems=("Everything", other))
            card = run.score(resamples=100, systems=("Everything", other), common=True)
            assert len(card.table.samples) == 3 * len(ABLE[other])
            for system in ("Everything", other):
                assert card.cell(system, "score", task) == whole.cell(system, "score", task)
                assert (card.cell(system, "score").value or 0) > 0.3
        papers, mine = (
            run.score(resamples=100, systems=("Painter",), common=True, weights=weights)
            for weights in (None, {"Text2Image": {"AES": 1.0}})
        )
        assert mine.cell("Painter", "score").value == papers.cell("Painter", "AES").value


def test_real_against_generated_sources(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        values = {
            key.sample: values["aesthetic"]
            for key, values in run.values()
            if key.system == "Everything"
        }
        for kind in ("real", "generated"):
            mine = [
                values[name] or 0.0
                for name, sample in run.samples.items()
                if sample.tags.get("source_type") == kind
            ]
            cell = card.cell("Everything", "AES", kind)
            assert cell.value == pytest.approx(mean(mine) / 10)
            assert cell.total == len(mine) == {"real": 54, "generated": 27}[kind]


def test_tables_in_the_papers_form(made: tuple[Path, Judged]) -> None:
    """Each group with the dimensions that it has."""
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
    shown = tables.chosen(card, ["Global Editing", "Controllable Generation"])
    heads = [grid.heads for grid in tables.grids(card, shown, {})]
    assert heads == [
        ["model", "AES", "IMG", "PF", "SRC", "score"],
        ["model", "AES", "IMG", "PF", "CTRL", "score"],
    ]
    wide = tables.latex_table(card, shown, {}, wide=True).splitlines()
    assert wide[2].count(r"\multicolumn{5}{c}") == 2
    assert wide[3] == r"Model & AES & IMG & PF & SRC & score & AES & IMG & PF & CTRL & score \\"
    assert {line.count("&") for line in wide[5:8]} == {10}
    lines = tables.markdown_table(card, shown, {}).splitlines()
    assert lines[0] == "| group | model | AES | IMG | PF | SRC | CTRL | score |"
    assert {line.count("|") for line in lines} == {9}
    by_task = {grid.title: len(grid.rows) for grid in tables.by_group(card, "task")}
    assert by_task == {
        "AES": 31, "IMG": 31, "PF": 31, "SRC": 22, "REF": 7, "CTRL": 5, "score": 31,
    }  # fmt: skip


def test_a_circle_of_all_tasks(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
    (panel,) = (axes for axes in plots.radar(card).axes if axes.name == "polar")
    drawn = [text.get_text().replace("\n", " ") for text in panel.texts]
    assert [name for name in drawn if name in TASKS] == list(TASKS)
    values = dict(
        zip(card.systems, (np.asarray(line.get_ydata())[:-1] for line in panel.lines), strict=False)
    )
    assert {name: int(np.isfinite(of).sum()) for name, of in values.items()} == {
        name: len(able) for name, able in ABLE.items()
    }


def test_the_report_shows_what_items_bring_and_what_models_lack(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        assert asked.absent(run, card.systems, card.table.samples) is None, "none is missing"
        shown = {
            task: gallery._shown(run, card, identity(TASKS[task], 0), None)
            for task in ("Text-to-Image Creating", "Face Swap")
        }
        place = {row[0]: row[2:] for row in answer.strengths(card).rows}
    text, swap = (
        [
            (picture.caption.partition(":")[0], picture.instead.partition(":")[0])
            for picture in found.pictures
        ]
        for found in shown.values()
    )
    assert sorted(text) == [("Everything", ""), ("Painter", ""), ("Steered", "unsupported")]
    assert swap[:3] == [("source", ""), ("mask", ""), ("reference", "")]
    assert sorted(swap[3:]) == [
        ("Everything", ""), ("Painter", "unsupported"), ("Steered", "unsupported"),
    ]  # fmt: skip
    assert "SRC" not in str(place["Everything"]), "nobody else has it"
    assert re.fullmatch(r"Text-to-Image Creating \([+-]0\.\d{4}\)", str(place["Painter"][2]))
    assert place["Painter"][3] == "–", "it does nothing else"


def test_what_is_not_supported_is_not_waited_for(made: tuple[Path, Judged]) -> None:
    with CloseUp(made[0]) as run:
        at = take(run)
    assert not (at.states == State.UNASKED).any()
    assert any("does not support count 0" in note for note in at.notes)


def test_no_source_is_missed_where_none_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = write_release(tmp_path, each=1)
    summary = summarise(open_benchmark(release))
    assert summary["images"] == {"present": 27, "missing": []}
    assert (summary["problems"], summary["repairs"]) == ([], [])
    assert summary["groups"]["tasks"] == dict.fromkeys(TASKS, 1)
    edits = write_edits(release, tmp_path / "M")
    for path in (tmp_path / "dataset" / "images").rglob("*_src.png"):
        path.unlink()
    assert len(summarise(open_benchmark(release))["images"]["missing"]) == 27
    monkeypatch.setattr(judging, "open_gauges", made_of)
    with pytest.raises(CrevalError, match="the source pictures are not there"):
        judge(open_benchmark(release), [edits], "", tmp_path / "run", Settings(metrics=("SRC",)))


def test_what_a_model_comes_to_support_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said to be unsupported gives way to a picture, and to its absence."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M", supports=lambda task: task.number == 1)

    def judged(*, unsupported: str) -> dict[str, int]:
        (edits / "unsupported.txt").write_text(unsupported)
        chosen = Settings(metrics=("AES",))
        judge(open_benchmark(release), [edits], "", tmp_path / "run", chosen)
        with open_run(tmp_path / "run") as run:
            rows = run._connection.execute("SELECT status, count(*) FROM edits GROUP BY 1")
            return dict(rows.fetchall())

    monkeypatch.setattr(judging, "open_gauges", made_of)
    assert judged(unsupported="") == {"done": 1, "absent": 30}
    assert judged(unsupported="Local Editing") == {"done": 1, "absent": 24, "unsupported": 6}
    (edits / "images" / f"{identity(TASKS['Inpainting'], 0)}.png").write_bytes(
        next((edits / "images").iterdir()).read_bytes()
    )
    later = "\n".join(str(number) for number in range(18, 23))
    assert judged(unsupported=later) == {"done": 2, "absent": 24, "unsupported": 5}


def test_without_a_task_there_is_nothing_to_ask(miniature: Path, tmp_path: Path) -> None:
    folder = next((miniature / "edits").iterdir())
    with pytest.raises(CrevalError, match="'ice-bench' has nothing to ask about"):
        judge(open_benchmark(miniature, "ice-bench"), [folder], "", tmp_path / "run")


def test_samples_that_all_support(made: tuple[Path, Judged]) -> None:
    """What one model cannot do none has; what is left scores as it does among all, under other
    weights too."""
    two = ("Everything", "Steered")
    with open_run(made[0]) as run:
        for weights in (None, {"AES": 1.0}):
            all_ = run.score(resamples=100, weights=weights)
            card = run.score(resamples=100, weights=weights, systems=two, common=True)
            tasks = {run.samples[name].tags["task"] for name in card.table.samples}
            assert {TASKS[task].number for task in tasks} == ABLE["Steered"]
            for name in card.table.samples:
                for system in two:
                    place = (system, "score", name, "sample")
                    assert card.cell(*place).value == all_.cell(*place).value
        found = missing.of_table(run, all_.table)
        assert missing.rule(all_.table, found) == [], "what is unsupported is told elsewhere"
