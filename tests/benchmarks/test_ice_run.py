"""A run of ICE-Bench with made values: every cell against a spreadsheet, and how it is shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np
import pytest

import creval.engine.judge as judging
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench import CARD
from creval.benchmarks.ice_tasks import TASKS
from creval.cli.bench import summarise
from creval.core.errors import CrevalError
from creval.core.probe import EditKey
from creval.engine.judge import judge
from creval.engine.judged import Judged
from creval.engine.settings import Settings
from creval.gauges.card import GaugeCard
from creval.gauges.embedding import Vector
from creval.gauges.exhibit import Exhibit, Unmeasured
from creval.gauges.gauge import Gauge
from creval.judges.fake import FakeServer
from creval.report import answer, asked, missing, plots, sentences, tables
from creval.report.changes import changes
from creval.report.comparison import comparison
from creval.report.page import gallery
from creval.report.page.page import page as report
from creval.stats.compare import compare
from creval.stats.unchanged import followed_from, unchanged
from creval.store import open_run
from creval.store.closeup import CloseUp
from creval.web import closer, lists
from creval.web.choice import Choice
from creval.web.snapshot import State, take
from tests.benchmarks.ice_files import identity, write_edits, write_release
from tests.benchmarks.ice_sheet import compared
from tests.serving import serving

SPANS = {"aesthetic": (3.0, 7.0), "imaging": (30.0, 80.0), "clip_cap": (0.1, 0.35)}


class Made(Gauge):
    """Gives each picture a number of its own, in the range of what it stands for."""

    card = GaugeCard("made", "", (), "")

    def __init__(self, name: str) -> None:
        self.name = name

    def measure(self, exhibit: Exhibit, made: Sequence[Vector]) -> dict[str, float]:  # noqa: ARG002
        sample, edit = exhibit.sample, exhibit.path
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


def test_every_cell_equals_a_spreadsheet(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        assert compared(run, ABLE, each=3) == 207 + 12 + 46


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
    said = comparison(found)
    names = [row[0] for row in said.grids[0].rows]
    assert len(names) == len(set(names)), "a category that is one group stands once"
    told = said.sentences
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
    (asked_,) = shown["Face Swap"].asked
    said = {given.system: given.said for given in asked_.given}
    assert said["Everything"] in ("0", "1")
    assert said["Painter"] == said["Steered"] == "not supported"
    assert "SRC" not in str(place["Everything"]), "nobody else has it"
    assert re.fullmatch(r"Text-to-Image Creating \([+-]0\.\d{4}\)", str(place["Painter"][2]))
    assert place["Painter"][3] == "–", "it does nothing else"


def test_the_report_shows_what_was_measured(made: tuple[Path, Judged]) -> None:
    """A score's reasons are one click away, also where nothing was asked."""
    name = identity(TASKS["Image Deblurring"], 0)
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        grid = gallery._shown(run, card, name, None).measured
        raw = {key.system: of for key, of in run.values() if key.sample == name}
        page = report(run, card, 100, each=1)
    assert grid is not None
    assert [row[0] for row in grid.rows] == [
        "aesthetic, for AES", "imaging, for IMG", "imaging, for PF", "ssim, for CTRL",
    ]  # fmt: skip
    shown = dict(zip(grid.heads, grid.rows[3], strict=True))
    assert shown["Everything"] == f"{raw['Everything']['ssim']:.4g}"
    assert shown["Painter"] == "–", "it does not support the task"
    assert re.search(r"<summary>\d measurements</summary>", page)
    assert "What was measured of " in page


def test_what_is_not_supported_is_not_waited_for(made: tuple[Path, Judged]) -> None:
    with CloseUp(made[0]) as run:
        at = take(run)
        page = closer.sample(at, run, Choice(), {"id": identity(TASKS["Face Swap"], 0)})
        listed = lists.questions(at, run, Choice(), "")
    rows = [row for _, rows in page["metrics"] for row in rows]
    assert {row.item.probe.metric for row in rows} == {"AES", "IMG", "PF", "SRC", "REF"}
    for row in rows:
        said = dict(zip(page["systems"], row.said, strict=True))
        assert said["Painter"] == said["Steered"] == ("unscored", "", "not supported")
        assert said["Everything"].words not in ("", "not supported")
    assert {one.state for line in listed["lines"] for one in line.said} & {"unasked"} == set()
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


def test_what_nobody_supports_counts_in_a_limited_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = write_release(tmp_path / "ICE")
    edits = write_edits(release, tmp_path / "M", supports=lambda task: task.number == 1)
    monkeypatch.setattr(judging, "open_gauges", made_of)
    judge(open_benchmark(release), [edits], "", tmp_path / "run", Settings(limit=2))
    with open_run(tmp_path / "run") as run:
        card = run.score(resamples=100)
    assert len(card.table.samples) == 2 * 31
    assert card.table.unsupported == {"M": 60}
    own = card.cell("M", "score", "Text-to-Image Creating").value or 0.0
    assert card.cell("M", "score").value == pytest.approx(own / 31)


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


def test_only_the_chosen_dimensions_have_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deblurring's PF is measured as IMG is, and comes with PF alone."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M")
    monkeypatch.setattr(judging, "open_gauges", made_of)
    with serving(FakeServer().app()) as url:
        for chosen in (("AES", "IMG"), ("PF",)):
            folder = tmp_path / chosen[0]
            settings = Settings(metrics=chosen)
            judge(open_benchmark(release), [edits], f"openai:m@{url}/v1", folder, settings)
            with open_run(folder) as run:
                card = run.score(resamples=50)
            for task in ("Image Deblurring", "Color Editing"):
                found = {c: card.cell("M", c, task).value for c in CARD.columns}
                assert tuple(c for c, value in found.items() if value is not None) == chosen
            there = [c for c in CARD.columns if card.cell("M", c).value is not None]
            assert tuple(there) == chosen


def test_models_for_what_is_not_chosen_are_named_and_not_refused(tmp_path: Path) -> None:
    """One list of models serves every choice of metrics."""
    release = write_release(tmp_path / "ICE", each=1)
    edits = write_edits(release, tmp_path / "M")
    models = {"clip": "no-model", "imaging": "no-model"}

    def made(gauges: Mapping[str, str]) -> judging.Judging:
        settings = Settings(metrics=("AES", "IMG"), gauges=gauges)
        return judging.Judging(open_benchmark(release), [edits], "", tmp_path / "run", settings)

    assert made(models).warnings() == [
        "--gauge clip: nothing of what was chosen is measured with it."
    ]
    with pytest.raises(CrevalError, match="--gauge boxes: nothing is measured with it here"):
        made(models | {"boxes": "no-model"})


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


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which only one dimension was measured, of models that do few tasks."""
    root = tmp_path_factory.mktemp("ice-part")
    release = write_release(root / "ICE", each=2)
    folders = [
        write_edits(
            release, root / "results" / name, seed=at,
            supports=lambda task, able=able: task.number in able,  # type: ignore[misc]
        )
        for at, (name, able) in enumerate(ABLE.items())
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "open_gauges", made_of)
        judge(open_benchmark(release), folders, "", root / "run", Settings(metrics=("AES",)))
    return root / "run"


def test_what_is_not_supported_makes_no_score_alone(part: Path) -> None:
    """Where no sample that a model supports has a score, it has none, though others count 0."""
    with open_run(part) as run:
        card = run.score(resamples=100)
        found = compare(run, "Painter", "Steered", resamples=100)
    for system in ABLE:
        for level in ("overall", "category", "task_group", "task"):
            for group in card.groups(level):
                cell = card.cell(system, "score", group, level)
                assert cell[:3] == (None, None, None), (system, group)
        assert card.cell(system, "AES").value is not None
    assert {d[2:5] for d in card.differences} == {(None, None, None)}
    assert {d.p for d in card.differences} == {None}
    assert not any(d.decided for d in card.differences)
    assert answer.best(card) == "No model has a value in score yet."
    assert (
        comparison(found).sentences[0] == "Painter and Steered have no score on the same samples."
    )


def test_zeros_for_what_is_not_supported_are_no_evidence(
    made: tuple[Path, Judged], part: Path
) -> None:
    """An interval needs five samples that a model has edited; a difference, that one has."""
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
    painter, steered = (card.cell(name, "score") for name in ("Painter", "Steered"))
    assert painter.value is not None
    assert (painter.low, painter.high) == (None, None), "three pictures"
    assert steered.low is not None, "fifteen"
    samples = {(d.first, d.second): d.samples for d in card.differences}
    assert samples["Painter", "Steered"] == 18
    with open_run(part) as run:
        found = compare(run, "Painter", "Steered", resamples=100)
    aesthetics = found.differences["overall", "overall", "AES"]
    assert aesthetics.samples == 12
    assert found.differences["task_group", "Global Editing", "AES"].samples == 0


def test_where_two_models_are_far_apart_stands_what_was_measured(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        found = compare(run, "Everything", "Steered", resamples=100)
        values = {key: of for key, of in run.values() if key.system != "Painter"}
    said = comparison(found)
    assert len(said.grids) == 1 + 5
    for grid, gap in zip(said.grids[1:], found.samples, strict=True):
        assert grid.heads == ["measured", "Everything", "Steered"]
        for at, system in enumerate(("Everything", "Steered"), 1):
            raw = values[EditKey(system, gap.sample)]
            shown = [(str(row[0]).partition(",")[0], row[at]) for row in grid.rows]
            assert sorted(shown) == sorted(
                (name.partition("/")[0], f"{value:.4g}") for name, value in raw.items()
            )
        (one, *_) = said.data["samples"][found.samples.index(gap)]["measured"]
        assert (one["name"], one["metric"]) == ("aesthetic", "AES")


def test_strong_and_weak_on_what_models_support(made: tuple[Path, Judged]) -> None:
    """Zeros for what a model cannot do are no weakness in what it does."""
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
    found = answer.strengths(card)
    assert "over the tasks that both it and others support" in found.caption
    leads = {name: answer._metrics(card, name) for name in card.systems}
    creating = [card.cell(n, "AES", "Text-to-Image Creating").value or 0.0
                for n in ("Painter", "Everything")]  # fmt: skip
    assert leads["Painter"]["AES"] == pytest.approx(creating[0] - creating[1])
    assert set(leads["Painter"]) == {"AES", "IMG", "PF", "score"}
    alone = replace(card, table=replace(card.table, unsupported={}))
    assert answer._metrics(alone, "Painter")["AES"] < -0.2, "as if it had done the rest badly"


def test_why_there_is_no_interval_is_said(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card, alone = run.score(resamples=100), run.score(resamples=100, systems=("Everything",))
    words = ["A value without an interval rests on fewer than 5 samples."]
    assert sentences.few(card, tables.chosen(card, ["task"])) == words, "three each"
    assert sentences.few(card, [("overall", "overall")]) == words, "Painter has three"
    assert sentences.few(alone, tables.chosen(alone, ["overall", "sample"])) == []
    no_groups, some = (
        str(plots.radar(card, level).get_label()) for level in ("task", "task_group")
    )
    assert "no intervals, because no group has 5 samples with a value." in no_groups
    assert "A group with fewer than 5 samples has none." in some
    assert "how far intervals reach" in some
    assert "how far intervals reach" not in no_groups


def test_nobody_scores_here_what_was_followed(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        found = unchanged(run, card, resamples=100)
    (grid,) = changes(found, followed_from(card), 0).grids
    assert grid.heads == ["model", "edits", "unchanged", "95 %"]
    assert {len(row) for row in grid.rows} == {4}


def test_the_report_has_a_table_for_each_category_and_group(made: tuple[Path, Judged]) -> None:
    """With the dimensions that it has, the score first; what is a category and a group, once."""
    with open_run(made[0]) as run:
        card = run.score(resamples=100)
        page = report(run, card, 100, each=0)
    found = {
        re.findall(r"<caption>(.*?)</caption>", table)[0]: re.findall(
            r'<button type="button">(.*?)<', table
        )
        for table in page.partition('id="scores"')[2].partition("<section")[0].split("<table")[1:]
    }
    whole, *groups = found
    assert whole == "Scores; a head sorts by its column"
    assert groups == [
        "No-ref Image Creating", "Ref Image Creating", "No-ref Image Editing", "Ref Image Editing",
        "Global Editing", "Local Editing", "Controllable Generation", "Subject Reference Editing",
    ]  # fmt: skip
    assert found[whole] == ["model", "score", "AES", "IMG", "PF", "SRC", "REF", "CTRL"]
    assert found["Local Editing"] == ["model", "score", "AES", "IMG", "PF", "SRC"]
    assert "A value without an interval rests on fewer than 5 samples." in page
    assert "no intervals, because no group has 5 samples with a value" in page
