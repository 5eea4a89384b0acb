from __future__ import annotations

import csv
import io
import json
from dataclasses import astuple, replace

import numpy as np
import pytest
from rich.console import Console

from creval.analysis.scoring import score
from creval.core.errors import CrevalError
from creval.reporting import tables
from creval.reporting.latex import latex_table
from creval.reporting.output import rich_table
from creval.stats.scorecard import AVERAGE_MODEL, Scorecard, build_scorecard
from creval.store import Run
from tests.stats.made import table

OVERALL = [("overall", "overall")]


@pytest.fixture
def card() -> Scorecard:
    """Return a card with A best, B second, and C and D equal last in every metric."""
    level = np.array([90.0, 80, 50, 50])[:, None, None]
    return build_scorecard(table(level + np.zeros((4, 6, 3)), [0, 0, 3, 3, 6, 6]), resamples=200)


def test_best_and_second_are_marked(card: Scorecard) -> None:
    assert tables.best_and_second(card, "overall", "overall", "S", {}) == {"A": 1, "B": 2}


def test_marks_are_given_within_groups_of_models(card: Scorecard) -> None:
    groups = {"open": ["B", "C"], "closed": ["A"]}
    assert tables.best_and_second(card, "overall", "overall", "S", groups) == {"B": 1, "C": 2}
    assert tables.order_models(card, groups) == ["B", "C", "A", "D"]


def test_equal_values_share_a_mark(card: Scorecard) -> None:
    assert tables.best_and_second(card, "overall", "overall", "IF", {"low": ["C", "D"]}) == {
        "C": 1,
        "D": 1,
        "A": 1,
        "B": 2,
    }


def test_the_terminal_shows_value_interval_coverage_and_mark(card: Scorecard) -> None:
    console = Console(width=160, file=io.StringIO())
    shown = tables.select_groups(card, ["overall", "category"])
    for grid in tables.score_tables(card, shown, {"open": ["A"]}):
        console.print(rich_table(grid))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("Customization", "80.00¹  100 %", "50.00²", "[90.0, 90.0]", "open", "others"):
        assert part in text


def test_markdown_and_latex_mark_the_same_cells(card: Scorecard) -> None:
    rows = tables.markdown_table(card, OVERALL, {}).splitlines()
    assert rows[0] == "| group | model | IF | VC | VQ | S |"
    assert rows[2].startswith("| overall | A | **90.00** [90.0, 90.0] (100 %) |")
    assert "| <u>80.00</u> " in rows[3]
    text = latex_table(card, OVERALL, {})
    assert r"A & \textbf{90.00} {\scriptsize [90.0, 90.0] (100 \%)} &" in text
    assert r"\underline{80.00}" in text
    assert text.count(r"\\") == 1 + len(card.models), "one group needs no heading"


def test_csv_and_json_hold_every_cell_unrounded(small_run: Run) -> None:
    card = score(small_run, resamples=200)
    shown = tables.select_groups(card, ["overall", "dimension"])
    rows = list(csv.DictReader(io.StringIO(tables.csv_table(card, shown))))
    assert len(rows) == (1 + 9) * 3 * 4
    everything = tables.scorecard_json(
        card, small_run.manifest, tables.select_groups(card, ["overall", "category", "sample"])
    )
    assert json.loads(json.dumps(everything)) == everything
    first = next(row for row in rows if (row["model"], row["metric"]) == ("Keeper", "VC"))
    cell = everything["models"]["Keeper"]["overall"]["VC"]
    assert float(first["value"]) == cell["value"]
    assert set(cell) == {"value", "low", "high", "scored", "total"}
    assert set(everything["models"]["Keeper"]) == {"overall", "categories", "samples"}
    assert everything["models"]["Keeper"]["samples"]["mini_003"]["S"]["low"] is None


def test_levels_and_groups_by_name(card: Scorecard) -> None:
    shown = tables.select_groups(card, ["overall", "categories", "Surreal Fantasy", "samples"])
    assert shown[0] == ("overall", "overall")
    assert shown[1:4] == [("category", name) for name in card.groups("category")]
    assert shown[4] == ("dimension", "Surreal Fantasy")
    assert ("sample", "s0") in shown
    with pytest.raises(CrevalError, match="did you mean 'Surreal Fantasy'"):
        tables.select_groups(card, ["Surreal Fantsy"])


def test_groups_side_by_side(card: Scorecard) -> None:
    shown = tables.select_groups(card, ["category"])
    head, _, first, *_ = tables.markdown_table(card, shown, {}, wide=True).splitlines()
    assert head.split(" | ")[:3] == ["| model", "Customization IF", "Customization VC"]
    assert first.startswith("| A | **90.00** ")
    assert len(head.split(" | ")) == 1 + 3 * 4
    text = latex_table(card, shown, {}, wide=True)
    assert r" & \multicolumn{4}{c}{Customization} & " in text
    assert text.count(r"\\") == 2 + 4
    console = Console(width=240, file=io.StringIO())
    (grid,) = tables.score_tables(card, shown, {}, width=240)
    console.print(rich_table(grid))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert printed.count("Customization") == 4
    assert len([line for line in printed.splitlines() if line.strip().startswith("A ")]) == 1
    assert len(list(tables.score_tables(card, shown, {}, width=80))) == 3


def test_the_average_over_models_is_a_row_with_its_interval() -> None:
    values = np.array([90.0, 80, 50])[:, None, None] + np.zeros((3, 6, 3))
    values[2, :, 1] = np.nan
    made = build_scorecard(table(values, [0, 0, 3, 3, 6, 6]), resamples=200, average=True)
    assert list(astuple(made.cell(AVERAGE_MODEL, "IF"))) == pytest.approx([220 / 3] * 3 + [90, 90])
    assert list(astuple(made.cell(AVERAGE_MODEL, "VC"))) == pytest.approx([85.0] * 3 + [60, 90])
    assert AVERAGE_MODEL not in made.models
    rows = tables.markdown_table(made, OVERALL, {}).splitlines()
    assert rows[-1].startswith(f"| overall | {AVERAGE_MODEL} | 73.33 [73.3, 73.3] (100 %) | 85.00 ")
    found = tables.scorecard_json(made, {"benchmark": "", "judge": ""}, OVERALL)
    assert found["average"]["overall"]["IF"]["value"] == pytest.approx(220 / 3)
    assert set(found["models"]) == {"A", "B", "C"}
    plain = build_scorecard(table(values, [0, 0, 3, 3, 6, 6]), resamples=200)
    with pytest.raises(CrevalError, match="model"):
        plain.cell(AVERAGE_MODEL, "IF")


def test_empty_columns_are_hidden_unless_the_ranking_uses_them(card: Scorecard) -> None:
    scored = card.table.scored.copy()
    scored[..., 1] = 0
    without = replace(card, table=replace(card.table, scored=scored))
    assert tables.visible_columns(without) == ["IF", "VC", "VQ", "S"]
    by_first = replace(without.table.schema, rank_by="IF")
    without = replace(without, table=replace(without.table, schema=by_first))
    assert tables.visible_columns(without) == ["IF", "VQ", "S"]


def test_samples_as_rows_for_papers(card: Scorecard) -> None:
    shown = tables.select_groups(card, ["sample"])
    assert tables.markdown_table(card, shown, {}).count("s0 ") == 4
    assert latex_table(card, shown, {}).count("{s0}") == 1, "a sample is the heading of its models"
    averaged = build_scorecard(card.table, resamples=50, average=True)
    assert AVERAGE_MODEL not in tables.csv_table(averaged, shown)
    assert AVERAGE_MODEL in tables.csv_table(averaged, tables.select_groups(averaged, ["overall"]))
    assert set(averaged.frame("overall")["model"]) == {"A", "B", "C", "D", AVERAGE_MODEL}
