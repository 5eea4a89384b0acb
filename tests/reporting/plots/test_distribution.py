"""The distribution plot of a benchmark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import creval
from creval.analysis.benchmark_contents import BenchmarkContents
from creval.benchmarks.complex_edit.protocol import ComplexEdit
from creval.core.benchmark import Benchmark, Dataset
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import OVERALL, Level
from creval.reporting import plots
from miniature import write_miniature
from tests.benchmarks.complex_edit import release_files


def panels(figure: Figure) -> dict[str, Any]:
    """Return the panels of a figure by title."""
    return {axes.get_title(loc="left"): axes for axes in figure.findobj(Axes) if isinstance(axes, Axes)}


def bars(axes: Any) -> list[float]:
    return [patch.get_width() for patch in axes.patches]


@pytest.fixture
def chains(tmp_path: Path) -> BenchmarkContents:
    folder = release_files.write_parquet(tmp_path, test_real=[release_files.row(n) for n in range(4)])
    return creval.describe_benchmark(folder)


def test_groups_and_subsets_are_bars(chains: BenchmarkContents) -> None:
    drawn = panels(plots.distribution(chains))
    assert list(drawn) == [
        "complexity",
        "subsets",
        "lengths of instructions",
        "operations",
        "which category follows which",
    ]
    assert bars(drawn["complexity"]) == [4, 4, 4]
    assert [label.get_text() for label in drawn["complexity"].get_yticklabels()] == ["C1", "C2", "C3"]
    assert bars(drawn["subsets"]) == [12]


def test_the_histogram_has_every_sample_once(chains: BenchmarkContents) -> None:
    axes = panels(plots.distribution(chains))["lengths of instructions"]
    assert sum(patch.get_height() for patch in axes.patches) == 12
    assert axes.texts[0].get_text() == "median 5"


def test_the_matrix_has_the_counts_of_transitions(chains: BenchmarkContents) -> None:
    # Add an Object, Change Color, Remove an Object: from objects to colours, and back.
    axes = panels(plots.distribution(chains))["which category follows which"]
    shown = {text.get_position(): text.get_text() for text in axes.texts if text.get_text() != "·"}
    assert shown == {(1, 0): "4", (0, 1): "4"}
    opacity = [float(patch.get_alpha() or 0) for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(opacity) == 81
    assert sorted(opacity)[-3:] == [0, 0.62, 0.62]


def test_equal_numbers_of_questions_are_stated_and_not_drawn(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    figure = plots.distribution(creval.describe_benchmark(tmp_path / "bench"))
    assert "questions per metric and sample" not in panels(figure)
    assert "Every sample has 5 questions in IF, 5 questions in VC, 5 questions in VQ." in plots.caption(figure)


def test_different_numbers_of_questions_are_drawn(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    bench = creval.open_benchmark(tmp_path / "bench")
    first, *rest = bench.dataset.samples
    fewer = replace(first, questions=tuple(q for q in first.questions if q.metric != "VC"))
    dataset = replace(bench.dataset, samples=(fewer, *rest))
    drawn = panels(plots.distribution(BenchmarkContents(Benchmark(dataset, bench.protocol))))
    lines = drawn["questions per metric and sample"].lines
    assert [list(line.get_ydata()) for line in lines] == [[9], [1, 0, 0, 0, 0, 8], [9]]


def test_hostile_names_many_groups_and_one_sample(tmp_path: Path) -> None:
    names = tuple(f"$_{n}\x1b\ufffe<" for n in range(100))
    level = Level("_$x$", "_$x$", names)
    steps = tuple(InstructionStep("Go.", name) for name in names)
    sample = Sample("s", "", None, {"_$x$": names[0]}, steps=steps)
    dataset = Dataset("complex-edit", Path(), (sample,), levels=(OVERALL, level), title="$\\frac{")
    figure = plots.distribution(BenchmarkContents(Benchmark(dataset, ComplexEdit())))
    plots.save_figure(figure, tmp_path / "plot.svg")
    drawn = panels(figure)
    assert len(bars(drawn[r" \$x\$, the 40 largest of 100"])) == 40
    assert len(bars(drawn["operations, the 40 most frequent of each category"])) == 40
