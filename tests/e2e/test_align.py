"""Tests of `creval align` on the command line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from creval.analysis.scoring import build_score_table
from creval.benchmarks import open_benchmark
from creval.judging.replay_run import replay
from creval.store import open_run
from miniature import write_miniature
from tests.commands import creval, parsed, right, wrong


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("align")
    bench = write_miniature(folder / "bench", samples=120, seed=5)
    replay(open_benchmark(bench), bench / "answers", folder / "run")
    return folder / "run"


def write(path: Path, head: str, rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(","), *rows])
    return path


def rated(run: Path, path: Path, share: float) -> Path:
    """Write ratings of two raters from 1 to 5 for a share of the samples: the judge's scores plus noise."""
    generator = np.random.default_rng(0)
    with open_run(run) as opened:
        table = build_score_table(opened)
    rows = []
    for at, model in enumerate(table.models):
        values = table.with_composite()[at, :, -1]
        for sample, value in list(zip(table.samples, values, strict=True))[: int(share * 120)]:
            for rater in ("ann", "bob"):
                felt = 1 + value / 25 + 0.7 * generator.normal()
                rows.append([rater, sample, model, "overall", int(np.clip(round(felt), 1, 5))])
    return write(path, "rater,sample,model,metric,rating", rows)


def test_a_run_is_compared_with_ratings(run: Path, tmp_path: Path) -> None:
    human = rated(run, tmp_path / "human.csv", 0.5)
    shown = right("align", run, "--human", human, "--scale", "1-5", "--resamples", "200")
    assert "highest correlation with people's overall over samples" in shown
    assert "One person compared with the others" in shown
    assert "the interval of a model's mean rating is" in shown
    assert "The weights that agree best with people's overall are IF" in shown
    assert "Krippendorff's alpha" in shown
    found = parsed("align", run, "--human", human, "--scale", "1-5", "--resamples", "200")
    said = found["people"]["overall"]
    assert list(said["metrics"]) == ["IF", "VC", "VQ", "S", "S, geometric"]
    assert found["sentences"][0] in " ".join(shown.split())
    cell = said["metrics"]["S"]["sample"]["spearman"]
    assert cell["low"] < cell["value"] < cell["high"]
    assert said["main"] == "S"
    assert set(said["weights"]["best"]) == {"IF", "VC", "VQ"}
    for model in found["models"]:
        guess = said["predicted"][model]
        assert (guess["rated"], guess["scored"]) == (60, 120)
        assert guess["predicted"]["low"] < guess["predicted"]["high"]


def test_too_few_ratings_are_reported(run: Path, tmp_path: Path) -> None:
    human = rated(run, tmp_path / "human.csv", 0.1)
    shown = " ".join(right("align", run, "--human", human, "--scale", "1-5").split())
    assert "The interval of the mean rating is not reliable for" in shown
    assert "only 12 rated edits, at least 30" in shown
    said = parsed("align", run, "--human", human, "--scale", "1-5")["people"]["overall"]
    assert all(guess["predicted"]["low"] is None for guess in said["predicted"].values())


def choices(tmp_path: Path) -> tuple[Path, Path]:
    generator = np.random.default_rng(1)
    scores: list[list[Any]] = []
    said: list[list[Any]] = []
    for n in range(60):
        good = generator.uniform(0, 10, 3)
        scores += [[f"s{n}", m, "LPIPS", 10 - g] for m, g in zip("ABC", good, strict=True)]
        for one, two in ((0, 1), (1, 2), (2, 0)):
            gap = good[one] - good[two] + 3 * generator.normal()
            choice = "tie" if abs(gap) < 1 else "ABC"[one if gap > 0 else two]
            said.append(["ann", f"s{n}", "ABC"[one], "ABC"[two], choice])
    return (
        write(tmp_path / "scores.csv", "sample,model,metric,score", scores),
        write(tmp_path / "human.csv", "rater,sample,first,second,choice", said),
    )


def test_any_file_of_scores_is_compared_with_choices(tmp_path: Path) -> None:
    scores, human = choices(tmp_path)
    shown = right("align", "--scores", scores, "--human", human, "--lower", "LPIPS")
    assert "LPIPS prefers the edit that people prefer in" in shown
    assert "comparisons won in people's overall" in shown
    down = parsed("align", "--scores", scores, "--human", human, "--lower", "LPIPS")
    up = parsed("align", "--scores", scores, "--human", human)
    accuracy = [f["people"]["overall"]["metrics"]["LPIPS"]["accuracy"]["value"] for f in (down, up)]
    assert accuracy[0] > 0.7
    assert sum(accuracy) == pytest.approx(1)
    said = down["people"]["overall"]
    assert said["kind"] == "choices"
    assert sum(won["people"]["value"] for won in said["wins"].values()) == pytest.approx(1.5)
    assert list(said["over"]) == ["A / B", "A / C", "B / C"]
    assert said["ceiling"] is None
    assert len(said["metrics"]["LPIPS"]["sample"]["strands"]) == 3


def test_unused_rows_are_reported(tmp_path: Path) -> None:
    scores, human = choices(tmp_path)
    with human.open("a") as file:
        file.write("ann,s1,A,B,Z\nann,s1,A,\x1b[31mX,A\nann,nowhere,A,B,A\n")
    done = creval("align", "--scores", scores, "--human", human)
    assert done.returncode == 0
    assert "1 row left out: the choice is neither one of the two models nor `tie`" in done.stderr
    assert "2 ratings without a score to compare with" in done.stderr
    assert "\x1b[31m" not in done.stderr + done.stdout
    found = parsed("align", "--scores", scores, "--human", human)
    assert found["left_out"][str(human)][0]["line"] == 182
    assert found["unmatched"]["samples"] == ["nowhere"]


def test_wrong_usage_is_an_error(run: Path, tmp_path: Path) -> None:
    scores, human = choices(tmp_path)
    assert "no model and sample in common" in wrong("align", "--scores", run, "--human", human)
    assert "--human" in wrong("align", run)
    assert "neither the columns of ratings" in wrong("align", run, "--human", scores)
    assert "no model and sample in common" in wrong("align", run, "--human", human)
    assert "need a run instead of --scores" in wrong("align", "--scores", scores, "--human", human, "--strict")
    assert "--lower is for score files only" in wrong("align", run, "--human", human, "--lower", "IF")
    assert "no metric 'FID'" in wrong("align", "--scores", scores, "--human", human, "--lower", "FID")
    assert "is not a scale" in wrong("align", run, "--human", human, "--scale", "five")
    assert "No such file" in wrong("align", run, "--human", tmp_path / "none.csv")
