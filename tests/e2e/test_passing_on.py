"""Tests of `creval plot` and `creval export` on the command line."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import polars
import pytest

from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.touchstone.builder import build_touchstone
from tests.commands import creval, parsed, right, wrong


@pytest.mark.parametrize(("kind", "suffix"), [("radar", "svg"), ("forest", "pdf"), ("weights", "png")])
def test_the_suffix_decides_the_format_of_a_plot(kind: str, suffix: str, miniature_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / f"{kind}.{suffix}"
    done = creval("plot", miniature_run, kind, "--out", out, "--resamples", "100")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"wrote {out}: ")
    assert done.stdout == ""
    assert out.stat().st_size > 5000
    if suffix == "svg":
        words = " ".join(ElementTree.parse(out).getroot().itertext())
        assert "judge recorded:answers, 18 samples" in words
        assert "Keeper" in words


def test_options_select_the_content_of_a_plot(miniature_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "groups.svg"
    right(
        "plot",
        miniature_run,
        "groups",
        "--level",
        "categories",
        "--metrics",
        "VC",
        "--models",
        "Keeper",
        "--out",
        out,
        "--resamples",
        "100",
    )
    words = " ".join(ElementTree.parse(out).getroot().itertext())
    assert "Stylization" in words
    assert "Surreal" not in words
    assert "visual quality" not in words
    assert "Careful" not in words


def test_impossible_plots_are_errors(miniature_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "plot.svg"

    def said(*arguments: str) -> str:
        return wrong("plot", miniature_run, *arguments)

    assert "did you mean 'radar'? Known: radar, forest" in said("rader", "--out", str(out))
    assert "ends in .svg, .png or .pdf" in said("radar", "--out", str(tmp_path / "plot.doc"))
    assert "--repeat" in said("repeats", "--out", str(out))
    assert "no level `complexity`" in said("complexity", "--out", str(out))
    assert "--level is for" in said("plane", "--level", "category", "--out", str(out))
    assert "kind plane takes two metrics" in said("plane", "--metrics", "IF", "--out", str(out))
    assert "--metrics is not for" in said("cost", "--metrics", "IF", "--out", str(out))
    assert "Only --seed" in said("repeats", "--models", "Keeper", "--out", str(out))
    assert not out.exists()


def test_repeats_are_drawn(tmp_path: Path) -> None:
    build_touchstone(tmp_path / "bench", 6, 1, edits=tmp_path / "edits", editors=["lazy"])
    judge(
        open_benchmark(tmp_path),
        [tmp_path / "edits" / "lazy"],
        "noisy:0.8,0.8",
        tmp_path / "run",
        Settings(repeat=8, metrics=("VQ",)),
    )
    right("plot", tmp_path / "run", "repeats", "--out", tmp_path / "repeats.svg")
    words = " ".join(ElementTree.parse(tmp_path / "repeats.svg").getroot().itertext())
    assert "VQ: visual quality" in words
    right("export", tmp_path / "run", "--out", tmp_path / "out", "--resamples", "100")
    frame = polars.read_parquet(tmp_path / "out" / "verdicts.parquet")
    assert sorted(set(frame["repeat"])) == list(range(8)), "each repeat has its own rows"


def test_an_export_has_the_scores_of_creval_score(miniature_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = creval("export", miniature_run, "--out", out, "--resamples", "100")
    assert done.returncode == 0, done.stderr
    assert "README.md describes them" in done.stderr
    cells = parsed("score", miniature_run, "--resamples", "100")["models"]
    for level, group, model, metric, value, *_ in polars.read_parquet(out / "scores.parquet").iter_rows():
        if level == "overall":
            assert value == cells[model][group][metric]["value"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    assert "is not empty and is not an export" in wrong("export", miniature_run, "--out", tmp_path / "full")
