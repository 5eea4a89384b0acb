"""Statistics of single questions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.item_statistics import ItemStatistics, item_statistics
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.calls.settings import Settings
from creval.judging.judge_run import judge
from creval.judging.replay_run import replay
from creval.store import Run, open_run
from miniature import write_miniature


def found(run: Run) -> dict[tuple[str, str], ItemStatistics]:
    return {(item.sample, item.question.id): item for item in item_statistics(run)}


def answer(folder: Path, model: str, sample: str, position: int, said: str) -> None:
    """Change one recorded answer of IF."""
    path = folder / "answers" / "IF" / model / f"{sample}.json"
    content = json.loads(path.read_text())
    content["questions"][position]["model_answer"] = said
    path.write_text(json.dumps(content))


def test_issues_of_questions(tmp_path: Path) -> None:
    bench = write_miniature(tmp_path / "bench", samples=18)
    sample = "mini_001"
    for model, said in (("Careful", "YYNYN"), ("Follower", "YNNN?"), ("Keeper", "YYNY?")):
        for position, one in enumerate(said):
            word = {"Y": "Yes", "N": "No", "?": "Perhaps"}[one]
            answer(bench, model, sample, position, word)
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        items = found(run)
        card = score(run, resamples=100)
    first, second, third, fourth, fifth = (items[sample, f"IF/{n}"] for n in range(1, 6))
    assert (first.credit, first.issues) == (1.0, ("every model passes it",))
    assert (third.credit, third.issues) == (0.0, ("every model fails it",))
    assert second.credit == fourth.credit == pytest.approx(2 / 3)
    assert fifth.issues == ("most answers to it are unusable",)
    assert (fifth.unanswered.hits, fifth.unanswered.total, fifth.model_count) == (2, 3, 1)
    levels = {name: card.cell(name, "S").value or 0.0 for name in card.models}
    assert second.discrimination is not None
    passed = {"Careful": 1.0, "Follower": 0.0, "Keeper": 1.0}
    expected = np.corrcoef([[passed[name], level] for name, level in levels.items()], rowvar=False)
    assert second.discrimination == pytest.approx(expected[0, 1])


def test_every_question_is_listed_once(small_run: Run) -> None:
    items = item_statistics(small_run)
    assert len(items) == 18 * 15
    mean = sum(item.credit or 0.0 for item in items) / len(items)
    assert 0.5 < mean < 1.0


def test_disputed_questions(tmp_path: Path) -> None:
    from creval.touchstone.builder import build_touchstone

    build_touchstone(tmp_path / "bench", 2, 1, edits=tmp_path / "edits", editors=["lazy"])
    benchmark = open_benchmark(tmp_path)
    settings = Settings(repeat=3)
    judge(benchmark, [tmp_path / "edits" / "lazy"], "noisy:0.5,0.5", tmp_path / "run", settings)
    with open_run(tmp_path / "run") as run:
        items = item_statistics(run)
    disputed = [item for item in items if item.disputed.hits]
    assert len(disputed) == pytest.approx(0.75 * len(items), rel=0.25)
    assert all("judges or repeats mostly disagree on it" in item.issues for item in disputed)
    assert all(item.unanswered.hits == 0 for item in items)
