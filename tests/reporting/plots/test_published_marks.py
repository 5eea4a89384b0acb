"""Published numbers on plots: which judge and subset is shown, where the marks are, and that they are named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from creval.analysis.published_scores import PublishedScores, find_published_scores
from creval.core.errors import CrevalError
from creval.reporting import plots
from creval.reporting.published_tables import published_tables
from creval.stats.scorecard import Scorecard
from tests.benchmarks.complex_edit.test_protocol import TABLE_5, card_of


def card(subset: str | None = "test_real") -> Scorecard:
    made = card_of(TABLE_5)
    return replace(made, table=replace(made.table, subset=subset))


def found(of: Scorecard, judge: str = "openai:gpt-4o") -> PublishedScores:
    run: Any = SimpleNamespace(manifest={"benchmark": "complex-edit", "judge": judge})
    return find_published_scores(run, of)


def marks(figure: Figure, panel: int = 0) -> list[tuple[float, float]]:
    """Return the places of the open diamonds."""
    drawn: list[Any] = [line for line in figure.axes[panel].lines if line.get_marker() == "d"]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in drawn]


def test_the_runs_judge_is_shown_if_numbers_by_it_are_published() -> None:
    assert found(card()).judge == "GPT-4o"
    assert found(card(), "google:gemini-2.5-pro").judge == "Gemini-2.5-Pro"
    assert found(card(), "openai:other").judge == "GPT-4o"


def test_complexity_shows_both_ends_of_the_published_models() -> None:
    figure = plots.complexity(card(), metrics=("PQ",), published=found(card(), "google:gemini-2.5-pro"))
    printed = sorted(y for _, y in marks(figure))
    assert printed == sorted([5.94, 4.98, 6.82, 5.47, 5.50, 6.51, 7.71, 6.53, 7.96, 7.69, 9.10, 9.25])
    assert "judge Gemini-2.5-Pro, one of 2 judges), not measured here" in plots.caption(figure)


def test_numbers_of_two_subsets_are_not_mixed_in_a_plot() -> None:
    both = found(card(None))
    assert both.subsets == ("test_real", "test_syn")
    with pytest.raises(CrevalError, match="published separately for test_real and test_syn"):
        plots.complexity(card(None), published=both)


def test_a_table_names_judge_and_subset_if_there_are_several() -> None:
    (table,) = published_tables(found(card(None)), card(None), [("complexity", "C8")])
    names = [str(row[0]) for row in table.rows]
    assert names[:4] == [
        "UltraEdit (GPT-4o, test_real)",
        "UltraEdit (Gemini-2.5-Pro, test_real)",
        "UltraEdit (GPT-4o, test_syn)",
        "UltraEdit (Gemini-2.5-Pro, test_syn)",
    ]
    assert not any(name.startswith("Average") for name in names)


def test_a_plot_of_what_is_not_published_says_so() -> None:
    figure = plots.forest(card(), published=found(card()))
    assert marks(figure) == []
    assert "No numbers are published for what this plot shows." in plots.caption(figure)
