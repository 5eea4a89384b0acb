"""A run of ICE-Bench as tables, a radar, the report and the viewer show it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.comparison import compare
from creval.analysis.score_table import score
from creval.analysis.unchanged import followed_from, unchanged
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.core.edit import EditKey
from creval.judging.summary import Judged
from creval.report import headline, plots, run_facts, sentences, tables
from creval.report.commands.comparison import comparison
from creval.report.commands.unchanged import changes
from creval.report.html import gallery
from creval.report.html.page import page as report
from creval.store import open_run
from creval.store.lookup import CloseUp
from creval.web.viewer import detail_pages, lists
from creval.web.viewer.filters import Choice
from creval.web.viewer.snapshot import State, take
from tests.benchmarks.ice_bench.made import ABLE
from tests.benchmarks.ice_bench.release_files import identity


def test_tables_in_the_papers_form(made: tuple[Path, Judged]) -> None:
    """Each group with the dimensions that it has."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
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
        card = score(run, resamples=100)
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
        card = score(run, resamples=100)
        assert run_facts.absent(run, card.systems, card.table.samples) is None, "none is missing"
        shown = {
            task: gallery._shown(run, card, identity(TASKS[task], 0), None)
            for task in ("Text-to-Image Creating", "Face Swap")
        }
        place = {row[0]: row[2:] for row in headline.strengths(card).rows}
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
        card = score(run, resamples=100)
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
        page = detail_pages.sample(at, run, Choice(), {"id": identity(TASKS["Face Swap"], 0)})
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
        card = score(run, resamples=100)
    found = headline.strengths(card)
    assert "over the tasks that both it and others support" in found.caption
    leads = {name: headline._metrics(card, name) for name in card.systems}
    creating = [card.cell(n, "AES", "Text-to-Image Creating").value or 0.0
                for n in ("Painter", "Everything")]  # fmt: skip
    assert leads["Painter"]["AES"] == pytest.approx(creating[0] - creating[1])
    assert set(leads["Painter"]) == {"AES", "IMG", "PF", "score"}
    alone = replace(card, table=replace(card.table, unsupported={}))
    assert headline._metrics(alone, "Painter")["AES"] < -0.2, "as if it had done the rest badly"


def test_why_there_is_no_interval_is_said(made: tuple[Path, Judged]) -> None:
    with open_run(made[0]) as run:
        card, alone = score(run, resamples=100), score(run, resamples=100, systems=("Everything",))
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
        card = score(run, resamples=100)
        found = unchanged(run, card, resamples=100)
    (grid,) = changes(found, followed_from(card), 0).grids
    assert grid.heads == ["model", "edits", "unchanged", "95 %"]
    assert {len(row) for row in grid.rows} == {4}


def test_the_report_has_a_table_for_each_category_and_group(made: tuple[Path, Judged]) -> None:
    """With the dimensions that it has, the score first; what is a category and a group, once."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
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
