"""Tests that a run's labels replace model names everywhere except in JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import polars
import pytest

import creval as library
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.store import RunWriter, open_run
from tests.commands import creval

FEW = ("--resamples", 100)
SHOWN = "Careful <b>1.0</b> & 'co'"  # hostile in HTML, SQL and XML


@pytest.fixture
def run(miniature_run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(miniature_run, tmp_path / "run")


@pytest.fixture
def labelled(run: Path) -> Path:
    library.label(run, {"Careful": "Shown"})
    return run


def test_a_label_is_saved_with_the_run_and_shown_in_tables_and_sentences(run: Path) -> None:
    before = creval("score", run, *FEW)
    assert "Careful" in before.stdout
    for done in (creval("score", run, "--label", f"Careful={SHOWN}", *FEW), creval("score", run, *FEW)):
        assert done.returncode == 0, done.stderr
        assert SHOWN in " ".join(done.stdout.split())
        assert before.stdout.count("Careful") == done.stdout.count("Careful <b>1.0") > 1
    assert creval("score", run, "--label", "Careful=", *FEW).stdout == before.stdout


@pytest.mark.parametrize("option", ["--markdown", "--latex", "--csv"])
def test_other_formats_of_the_table_show_the_label(labelled: Path, option: str) -> None:
    shown = creval("score", labelled, option, *FEW).stdout
    assert "Shown" in shown
    assert "Careful" not in shown


def test_json_has_the_names_and_the_labels(run: Path) -> None:
    before = json.loads(creval("score", run, "--json", *FEW).stdout)
    after = json.loads(creval("score", run, "--json", "--label", "Careful=Shown", *FEW).stdout)
    assert after["models"]["Careful"].pop("label") == "Shown"
    assert after == before


@pytest.mark.parametrize("name", ["Careful", "Shown"])
def test_options_accept_names_and_labels(labelled: Path, name: str) -> None:
    few = creval("score", labelled, "--models", f"{name},Keeper", *FEW)
    assert ("Shown" in few.stdout, few.returncode) == (True, 0), few.stderr
    grouped = creval("score", labelled, "--groups", f"open={name},closed=Keeper", *FEW)
    assert grouped.returncode == 0, grouped.stderr
    compared = creval("compare", labelled, name, "Keeper", *FEW)
    assert ("Shown" in compared.stdout, "Careful" in compared.stdout) == (True, False), compared.stderr
    found = json.loads(creval("compare", labelled, name, "Keeper", "--json", *FEW).stdout)
    assert "Careful" in json.dumps(found)
    assert "Shown" not in json.dumps(found)


@pytest.mark.parametrize("command", ["items", "sensitivity"])
def test_other_analyses_show_the_label(labelled: Path, command: str) -> None:
    shown = creval(command, labelled).stdout
    assert "Careful" not in shown
    named = creval(command, labelled, "--json").stdout
    assert "Shown" not in named


def test_plots_and_the_report_show_the_label(run: Path, tmp_path: Path) -> None:
    library.label(run, {"Careful": SHOWN})
    assert creval("plot", run, "forest", "--out", tmp_path / "plot.svg", *FEW).returncode == 0
    words = " ".join(" ".join(ElementTree.parse(tmp_path / "plot.svg").getroot().itertext()).split())
    assert SHOWN in words
    assert "Careful" not in words.replace(SHOWN, "")
    assert creval("report", run, "--out", tmp_path / "page.html", "--samples", 2, *FEW).returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "Careful &lt;b&gt;1.0&lt;/b&gt; &amp; &#39;co&#39;" in page
    assert "<b>1.0</b>" not in page


def test_an_export_shows_the_label(labelled: Path, tmp_path: Path) -> None:
    assert creval("export", labelled, "--out", tmp_path / "out", *FEW).returncode == 0
    for file in ("scores", "verdicts"):
        frame = polars.read_parquet(tmp_path / "out" / f"{file}.parquet")
        column = "system" if "system" in frame.columns else "model"
        assert set(frame[column]) >= {"Shown", "Keeper"}
        assert "Careful" not in set(frame[column])
    board = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert {(one["name"], one.get("label")) for one in board["models"]} >= {("Careful", "Shown"), ("Keeper", None)}


def test_human_ratings_may_use_names_or_labels(labelled: Path, tmp_path: Path) -> None:
    with open_run(labelled) as opened:
        samples = list(opened.samples)
    rows = [
        f"{s},{m},IF,r{r},{1 + (n + len(m) + r) % 5}"
        for n, s in enumerate(samples)
        for m in ("Careful", "Keeper")
        for r in (1, 2)
    ]
    file = tmp_path / "ratings.csv"
    file.write_text("sample,model,metric,rater,rating\n" + "\n".join(rows))
    with_labels = library.align(labelled, human=file, scale="1-5", resamples=100).to_json()
    library.label(labelled, {"Careful": ""})
    without = library.align(labelled, human=file, scale="1-5", resamples=100).to_json()
    assert with_labels["people"] != {}
    assert json.dumps(with_labels["people"]).replace("Shown", "Careful") == json.dumps(without["people"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("Careful", 'takes NAME="SHOWN"'),
        ("Nobody=X", "'Nobody'"),
        ("Careful=Keeper", "another model in"),
        ("Careful=a\x1b[2Jb", "is not a valid label"),
        (f"Careful={'x' * 300}", "is not a valid label"),
    ],
)
def test_wrong_labels_are_errors(run: Path, given: str, sentence: str) -> None:
    done = creval("score", run, "--label", given, *FEW)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_a_label_that_equals_a_model_name_is_not_used(labelled: Path) -> None:
    library.rename(labelled, "Keeper", "Shown")
    with open_run(labelled, labels=True) as opened:
        assert set(opened.models) >= {"Careful", "Shown"}


def test_hostile_labels_in_a_manifest_are_harmless(run: Path) -> None:
    hostile = {"Careful": "x' THEN 'y' END AS system FROM edits; --", "Keeper": ["no text"], "Follower": "\x00", "z": 1}
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"labels": hostile})
    with open_run(run, labels=True) as opened:
        assert hostile["Careful"] in opened.models
        assert "Keeper" in opened.models
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"labels": "no mapping"})
    with open_run(run, labels=True) as opened:
        assert "Careful" in opened.models
    for way in ("--json", "--markdown"):
        assert creval("score", run, way, *FEW).returncode == 0
    library.rename(run, "Careful", "Other")
    library.label(run, {"Other": "Shown"})
    with open_run(run, labels=True) as opened:
        assert "Shown" in opened.models


@pytest.mark.parametrize("name", ["Careful", "Shown"])
def test_a_renamed_model_keeps_its_label(labelled: Path, name: str) -> None:
    library.rename(labelled, name, "Other")
    with open_run(labelled, labels=True) as opened:
        assert "Shown" in opened.models
    with open_run(labelled) as opened:
        assert "Other" in opened.models
    with pytest.raises(CrevalError, match="another model"):
        library.label(labelled, {"Keeper": "Shown"})


def test_many_labels_and_missing_edits_take_linear_time(tmp_path: Path) -> None:
    """Statements that take more steps than the size of the file explains are interrupted."""
    models = [f"m{number}" for number in range(100)]
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_manifest({"labels": {"a\0b": "Nul", **{name: f"Model {name}" for name in models}}})
        keys = [EditKey(model, f"s{number}") for model in [*models, "a\0b"] for number in range(50)]
        store.put_edits(Edit(key, EditStatus.ABSENT) for key in keys)
    with open_run(tmp_path, labels=True) as opened:
        assert len(opened.missing_edits()) == 101 * 50
        assert {"Nul", "Model m99"} <= set(opened.models)
