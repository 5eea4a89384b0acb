"""Tests of one editor with two strategies, from `creval edit` to the cost of each."""

from __future__ import annotations

from pathlib import Path

from creval.touchstone.builder import build_touchstone
from tests.commands import parsed, right, wrong


def test_one_editor_with_two_strategies(tmp_path: Path, miniature_run: Path) -> None:
    bench, run = tmp_path / "bench", tmp_path / "run"
    build_touchstone(bench, 5, 4)
    editor = ("--editor", "touchstone:forgetful")
    right("edit", bench, *editor, "--out", tmp_path / "once")
    right("edit", bench, *editor, "--out", tmp_path / "best", "--strategy", "best-of:2", "--judge", "truth")
    folders = (tmp_path / "once", tmp_path / "best")
    right("judge", bench, "--edits", *folders, "--judge", "truth", "--run", run)
    found = parsed("score", run)["makers"]
    assert {name: one["strategy"] for name, one in found.items()} == {"once": "direct", "best": "best-of:2"}
    assert (found["best"]["editing"]["calls"], found["best"]["picking"]["calls"]) == (10, 30)
    assert found["best"]["seconds_per_edit"] > 0
    assert found["once"]["cost_per_edit"] == 0, "simulated editors are free"
    right("plot", run, "cost", "--out", tmp_path / "cost.svg")
    assert "seconds of calls per edit" in (tmp_path / "cost.svg").read_text(encoding="utf-8")
    right("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "touchstone:forgetful: best-of:2 changes S by" in page
    assert "History of best's edit" in page
    assert "the cost and time of this run" in wrong("plot", miniature_run, "cost", "--out", tmp_path / "x.svg")
    assert parsed("score", miniature_run)["makers"] == {}
