"""Groups of models: means, gaps and headings in every format, and tables without intervals."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.commands import parsed, right, wrong

GROUPS = ("--groups", "open=Keeper,Careful,closed=Follower")


def test_means_and_gaps_are_those_of_the_models(miniature_run: Path) -> None:
    found = parsed("score", miniature_run, *GROUPS)
    models = found["models"]
    for column in ("IF", "VC", "VQ", "S"):
        values = {name: models[name]["overall"][column]["value"] for name in models}
        mean = (values["Keeper"] + values["Careful"]) / 2
        assert found["group_means"]["mean of open"]["overall"][column]["value"] == pytest.approx(mean)
        gap = found["group_gaps"]["open minus closed"]["overall"][column]
        assert gap["value"] == pytest.approx(mean - values["Follower"])
        assert gap["low"] < gap["value"] < gap["high"]
    gaps = found["group_gaps"]["open minus closed"]
    assert gaps["categories"].keys() == models["Keeper"]["categories"].keys()


def test_every_format_has_headings_means_and_gaps(miniature_run: Path, tmp_path: Path) -> None:
    for form in ((), ("--markdown",), ("--latex",), ("--latex", "--compact"), ("--wide",)):
        text = right("score", miniature_run, *GROUPS, *form)
        order = ("open", "mean of open", "closed", "mean of closed", "open minus closed")
        places = [text.index(words) for words in order]
        assert places == sorted(places), form
    rows = list(csv.DictReader(right("score", miniature_run, *GROUPS, "--csv").splitlines()))
    groups = {row["model"]: row["model_group"] for row in rows}
    assert groups["Keeper"] == groups["mean of open"] == "open"
    assert groups["open minus closed"] == ""
    right("report", miniature_run, *GROUPS, "--out", tmp_path / "page.html", "--samples", "0")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "open minus closed" in page
    right("export", miniature_run, *GROUPS, "--out", tmp_path / "out")
    assert "mean of closed" in (tmp_path / "out" / "tables" / "overall.md").read_text("utf-8")
    assert "mean of closed" in (tmp_path / "out" / "tables" / "overall.tex").read_text("utf-8")


def test_values_only_leaves_out_intervals_and_says_so(miniature_run: Path) -> None:
    full = right("score", miniature_run)
    assert "[" in full
    for form in ((), ("--markdown",), ("--latex",)):
        text = right("score", miniature_run, "--values-only", *form)
        table = text.partition("Values only")[0]
        assert "[" not in table.replace("tabular", ""), form
        assert "intervals and coverage are left out" in " ".join(text.split()), form
    head = right("score", miniature_run, "--values-only", "--csv").splitlines()[0]
    assert head == "level,group,model,metric,value"
    assert "is for tables" in wrong("score", miniature_run, "--values-only", "--json")
    assert "--compact needs --latex" in wrong("score", miniature_run, "--compact")
