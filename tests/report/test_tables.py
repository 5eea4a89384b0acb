from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from creval.report import tables
from creval.stats.scorecard import Scorecard, scorecard
from creval.store import Run
from tests.stats.made import table


@pytest.fixture
def card() -> Scorecard:
    """A best, B second, C and D equal last on every metric."""
    level = np.array([90.0, 80, 50, 50])[:, None, None]
    return scorecard(table(level + np.zeros((4, 6, 3)), [0, 0, 3, 3, 6, 6]), resamples=200)


def test_best_and_second_are_marked(card: Scorecard) -> None:
    assert tables.places(card, "overall", "overall", "S", {}) == {"A": 1, "B": 2}


def test_within_groups_where_groups_are_given(card: Scorecard) -> None:
    groups = {"open": ["B", "C"], "closed": ["A"]}
    assert tables.places(card, "overall", "overall", "S", groups) == {"B": 1, "C": 2}
    assert tables.ordered(card, groups) == ["B", "C", "A", "D"]


def test_equal_values_share_a_place(card: Scorecard) -> None:
    assert tables.places(card, "overall", "overall", "IF", {"low": ["C", "D"]}) == {
        "C": 1, "D": 1, "A": 1, "B": 2,
    }  # fmt: skip


def test_the_terminal_shows_value_interval_coverage_and_place(card: Scorecard) -> None:
    console = Console(width=160, file=io.StringIO())
    for shown in tables.rich_tables(card, ["overall", "category"], {"open": ["A"]}):
        console.print(shown)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("Customization", "80.00¹  100 %", "50.00²", "[90.0, 90.0]", "open", "others"):
        assert part in text


def test_markdown_and_latex_mark_the_same_cells(card: Scorecard) -> None:
    rows = tables.markdown_table(card, ["overall"], {}).splitlines()
    assert rows[0] == "| group | model | IF | VC | VQ | S |"
    assert rows[2].startswith("| overall | A | **90.00** [90.0, 90.0] (100 %) |")
    assert "| <u>80.00</u> " in rows[3]
    text = tables.latex_table(card, ["overall"], {})
    assert r"overall & A & \textbf{90.00} {\scriptsize [90.0, 90.0] (100 \%)} &" in text
    assert r"\underline{80.00}" in text
    assert text.count(r"\\") == 5


def test_csv_and_json_hold_every_cell_unrounded(small_run: Run) -> None:
    card = small_run.score(resamples=200)
    rows = list(csv.DictReader(io.StringIO(tables.csv_table(card, ["overall", "dimension"]))))
    assert len(rows) == (1 + 9) * 3 * 4
    everything = tables.as_json(card, small_run.manifest, ["overall", "category", "sample"])
    assert json.loads(json.dumps(everything)) == everything
    first = next(row for row in rows if (row["model"], row["metric"]) == ("Keeper", "VC"))
    cell = everything["models"]["Keeper"]["overall"]["VC"]
    assert float(first["value"]) == cell["value"]
    assert set(cell) == {"value", "low", "high", "scored", "total"}
    assert set(everything["models"]["Keeper"]) == {"overall", "categories", "samples"}
    assert everything["models"]["Keeper"]["samples"]["mini_003"]["S"]["low"] is None
