"""Tests of a run of ICE-Bench in tables, a radar plot, the report and the viewer."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.analysis.unchanged_edits import following_threshold, summarise_unchanged
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.core.edit_record import EditKey
from creval.judging.summary import JudgeSummary
from creval.reporting import headline, plots, run_facts, sentences, tables
from creval.reporting.commands.comparison_output import comparison_output
from creval.reporting.commands.unchanged_output import unchanged_output
from creval.reporting.html import gallery
from creval.reporting.html.page import report_page as report
from creval.reporting.latex import latex_table
from creval.stats.bootstrap import bootstrap_tables
from creval.store import open_run
from creval.store.lookup import RunLookup
from creval.web.viewer import detail_pages, list_pages
from creval.web.viewer.filters import Filters
from creval.web.viewer.snapshot import AnswerState, take_snapshot
from tests.benchmarks.ice_bench.made import ABLE
from tests.benchmarks.ice_bench.release_files import identity


def test_tables_in_the_papers_form(made: tuple[Path, JudgeSummary]) -> None:
    """Each group has only its own dimensions."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
    shown = tables.select_groups(card, ["Global Editing", "Controllable Generation"])
    heads = [grid.headers for grid in tables.score_tables(card, shown, {})]
    assert heads == [["model", "AES", "IMG", "PF", "SRC", "score"], ["model", "AES", "IMG", "PF", "CTRL", "score"]]
    wide = latex_table(card, shown, {}, wide=True).splitlines()
    assert wide[2].count(r"\multicolumn{5}{c}") == 2
    assert wide[4] == r"Model & AES & IMG & PF & SRC & score & AES & IMG & PF & CTRL & score \\"
    assert {line.count("&") for line in wide[6:9]} == {10}
    lines = tables.markdown_table(card, shown, {}).splitlines()
    assert lines[0] == "| group | model | AES | IMG | PF | SRC | CTRL | score |"
    assert {line.count("|") for line in lines} == {9}
    by_task = {grid.title: len(grid.rows) for grid in tables.tables_by_group(card, "task")}
    assert by_task == {"AES": 31, "IMG": 31, "PF": 31, "SRC": 22, "REF": 7, "CTRL": 5, "score": 31}


def test_a_circle_of_all_tasks(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
    (panel,) = (axes for axes in plots.radar(card).axes if axes.name == "polar")
    drawn = [text.get_text().replace("\n", " ") for text in panel.texts]
    assert [name for name in drawn if name in TASKS] == list(TASKS)
    values = dict(zip(card.models, (np.asarray(line.get_ydata())[:-1] for line in panel.lines), strict=False))
    assert {name: int(np.isfinite(of).sum()) for name, of in values.items()} == {
        name: len(able) for name, able in ABLE.items()
    }


def test_the_report_shows_images_of_items_and_unsupported_tasks(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        assert run_facts.missing_images_table(run, card.models, card.table.samples) is None, "none is missing"
        shown = {
            task: gallery._gallery_sample(run, card, identity(TASKS[task], 0), None)
            for task in ("Text-to-Image Creating", "Face Swap")
        }
        place = {row[0]: row[2:] for row in headline.strengths_and_weaknesses(card).rows}
    text, swap = (
        [(image.caption.partition(":")[0], image.placeholder.partition(":")[0]) for image in found.images]
        for found in shown.values()
    )
    assert sorted(text) == [("Everything", ""), ("Painter", ""), ("Steered", "unsupported")]
    assert swap[:3] == [("source", ""), ("mask", ""), ("reference", "")]
    assert sorted(swap[3:]) == [("Everything", ""), ("Painter", "unsupported"), ("Steered", "unsupported")]
    (asked_,) = shown["Face Swap"].questions
    said = {given.model: given.answer for given in asked_.answers}
    assert said["Everything"] in ("0", "1")
    assert said["Painter"] == said["Steered"] == "not supported"
    assert "SRC" not in str(place["Everything"]), "no other model has a value"
    assert place["Painter"][2:] == ["–", "–"], "three samples of a task are too few"


def test_the_report_shows_measurements(made: tuple[Path, JudgeSummary]) -> None:
    """The basis of a score is one click away, even if no question was asked."""
    name = identity(TASKS["Image Deblurring"], 0)
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        grid = gallery._gallery_sample(run, card, name, None).measurements
        raw = {key.model: of for key, of in run.values_by_edit() if key.sample == name}
        page = report(run, card, 100, samples_per_section=1)
    assert grid is not None
    assert [row[0] for row in grid.rows] == [
        "aesthetic, for AES",
        "imaging, for IMG",
        "imaging, for PF",
        "ssim, for CTRL",
    ]
    shown = dict(zip(grid.headers, grid.rows[3], strict=True))
    assert shown["Everything"] == f"{raw['Everything']['ssim']:.4g}"
    assert shown["Painter"] == "–", "it does not support the task"
    assert re.search(r"<summary>\d measurements</summary>", page)
    assert "Measurements of " in page


def test_unsupported_samples_are_not_counted_as_unasked(made: tuple[Path, JudgeSummary]) -> None:
    with RunLookup(made[0]) as run:
        at = take_snapshot(run)
        page = detail_pages.sample_page(at, run, Filters(), {"id": identity(TASKS["Face Swap"], 0)})
        listed = list_pages.questions_page(at, run, Filters(), {})
    rows = [row for _, rows in page["metrics"] for row in rows]
    assert {row.item.probe.metric for row in rows} == {"AES", "IMG", "PF", "SRC", "REF"}
    for row in rows:
        said = dict(zip(page["models"], row.answers, strict=True))
        assert said["Painter"] == said["Steered"] == ("unscored", "", "not supported")
        assert said["Everything"].text not in ("", "not supported")
    assert {one.state for line in listed["lines"] for one in line.answers} & {"unasked"} == set()
    assert not (at.states == AnswerState.UNASKED).any()
    assert any("does not support counts as 0" in note for note in at.notes)


def test_samples_with_large_differences_show_measurements(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        found = compare(run, "Everything", "Steered", resamples=100)
        values = {key: of for key, of in run.values_by_edit() if key.model != "Painter"}
    said = comparison_output(found)
    assert len(said.tables) == 1 + 5
    for grid, gap in zip(said.tables[1:], found.sample_gaps, strict=True):
        assert grid.headers == ["measurement", "Everything", "Steered"]
        for at, model in enumerate(("Everything", "Steered"), 1):
            raw = values[EditKey(model, gap.sample)]
            shown = [(str(row[0]).partition(",")[0], row[at]) for row in grid.rows]
            assert sorted(shown) == sorted((name.partition("/")[0], f"{value:.4g}") for name, value in raw.items())
        (one, *_) = said.data["samples"][found.sample_gaps.index(gap)]["measured"]
        assert (one["name"], one["metric"]) == ("aesthetic", "AES")


def test_strengths_and_weaknesses_are_of_supported_tasks(made: tuple[Path, JudgeSummary]) -> None:
    """Zeros for unsupported tasks are not shown as a weakness of the model's edits."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
    found = headline.strengths_and_weaknesses(card)
    assert "over the tasks that it and at least one other model support" in found.caption
    (draws,) = bootstrap_tables([card.table], 100, seed=0)
    leads = {name: headline._metric_leads(card, draws, name) for name in card.models}
    creating = [card.cell(n, "AES", "Text-to-Image Creating").value or 0.0 for n in ("Painter", "Everything")]
    assert leads["Painter"]["AES"].value == pytest.approx(creating[0] - creating[1])
    assert set(leads["Painter"]) == {"AES", "IMG", "PF", "score"}
    alone = replace(card, table=replace(card.table, unsupported={}))
    assert headline._metric_leads(alone, draws, "Painter")["AES"].value < -0.2, "as if its other edits were bad"


def test_missing_intervals_are_explained(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card, alone = score(run, resamples=100), score(run, resamples=100, models=("Everything",))
    words = ["A value without an interval is based on fewer than 5 samples."]
    assert sentences.missing_interval_sentences(card, tables.select_groups(card, ["task"])) == words, (
        "three samples per task"
    )
    assert sentences.missing_interval_sentences(card, [("overall", "overall")]) == words, "Painter has three samples"
    assert sentences.missing_interval_sentences(alone, tables.select_groups(alone, ["overall", "sample"])) == []
    no_groups, some = (str(plots.radar(card, level).get_label()) for level in ("task", "task_group"))
    assert "There are no intervals, because no group has 5 samples with a value." in no_groups
    assert "Groups with fewer than 5 samples have no interval." in some
    assert "half-width of intervals" in some
    assert "half-width of intervals" not in no_groups


def test_unchanged_edits_without_instruction_following(made: tuple[Path, JudgeSummary]) -> None:
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        found = summarise_unchanged(run, card, resamples=100)
    (grid,) = unchanged_output(found, following_threshold(card), 0).tables
    assert grid.headers == ["model", "edits", "unchanged", "95 % interval"]
    assert {len(row) for row in grid.rows} == {4}


def test_the_report_has_a_table_for_each_category_and_group(made: tuple[Path, JudgeSummary]) -> None:
    """Groups have only their own dimensions, with the score first. A category that is also a group is listed once."""
    with open_run(made[0]) as run:
        card = score(run, resamples=100)
        page = report(run, card, 100, samples_per_section=0)
    found = {
        re.findall(r'aria-label="(.*?)"', table)[0]: re.findall(r'<button type="button">(.*?)<', table)
        for table in page.partition('id="scores"')[2].partition("<section")[0].split('<div class="wide"')[1:]
    }
    whole, *groups = found
    assert whole == "Scores; select a column header to sort"
    assert groups == [
        "No-ref Image Creating",
        "Ref Image Creating",
        "No-ref Image Editing",
        "Ref Image Editing",
        "Global Editing",
        "Local Editing",
        "Controllable Generation",
        "Subject Reference Editing",
    ]
    assert found[whole] == ["model", "score", "AES", "IMG", "PF", "SRC", "REF", "CTRL"]
    assert found["Local Editing"] == ["model", "score", "AES", "IMG", "PF", "SRC"]
    assert "A value without an interval is based on fewer than 5 samples." in page
    assert "no intervals, because no group has 5 samples with a value" in page
