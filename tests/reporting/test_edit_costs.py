"""Tests of tables, sentences and plots about the cost of edits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.reporting import edit_costs, plots
from creval.reporting.output import TableCell, as_table_cell
from creval.stats.scorecard import Scorecard, build_scorecard
from creval.store.provenance import PROVENANCE_KEY, CallCosts, EditProvenance, read_provenance
from tests.reporting.plots.test_plots import EVIL, drawn, marks, texts, value
from tests.stats.made import table

MADE = {
    "A": EditProvenance("openai:x", "direct", 20, CallCosts(20, 0.8, 200.0)),
    "B": EditProvenance("openai:x", "best-of:4", 20, CallCosts(80, 3.2, 800.0), CallCosts(60, 0.8, 100.0)),
    "C": EditProvenance("openai:x", "sequential", 10, CallCosts(40, 1.6, 400.0), planning=CallCosts(10, 0.6, 5.0)),
    "D": EditProvenance("hf:local", "direct", 20, CallCosts(20, None, 60.0)),
}


def card(models: int = 5, gap: float = 5.0) -> Scorecard:
    chance = np.random.default_rng(2)
    base = chance.uniform(20, 60, (1, 40, 3))
    ahead = gap * np.arange(models)[:, None, None]
    return build_scorecard(table(base + ahead + chance.normal(0, 2, (models, 40, 3)), [0] * 40), resamples=200)


def cells(found: Scorecard, made: edit_costs.ProvenanceByModel) -> dict[str, dict[str, TableCell]]:
    grid = edit_costs.cost_table(found, made)
    assert all(len(row) == len(grid.headers) for row in grid.rows)
    return {
        as_table_cell(row[0]).text: {head: as_table_cell(cell) for head, cell in zip(grid.headers, row, strict=True)}
        for row in grid.rows
    }


def test_the_table_shows_all_costs_with_the_score() -> None:
    """B: 4 dollars for 20 edits. Picking took a fifth of that."""
    rows = cells(card(), MADE)
    assert list(rows) == ["D", "A", "B", "C", "E"], "models of one editor are together, the cheapest first"
    best = rows["B"]
    assert (best["editor"].text, best["strategy"].text) == ("openai:x", "best-of:4")
    assert (best["calls per edit"].text, best["calls per edit"].below) == ("4", "helpers 3")
    assert (best["cost per edit"].text, best["cost per edit"].below) == ("0.20 USD", "20 % picking")
    assert best["time per edit"].text == "45 s"
    assert rows["C"]["cost per edit"].below == "27 % planning"


def test_unknown_costs_are_shown_as_unknown() -> None:
    rows = cells(card(), MADE)
    assert rows["D"]["cost per edit"].text == "unknown"
    assert rows["D"]["time per edit"].text == "3 s"
    assert rows["E"]["editor"].text == "unknown"
    assert (rows["E"]["cost per edit"].text, rows["E"]["time per edit"].text) == ("unknown",) * 2
    none = {"A": EditProvenance("x", "direct", 0, CallCosts(3, 0.3, 3.0))}
    assert cells(card(), none)["A"]["cost per edit"].text == "unknown", "there is no edit"


def test_strategies_are_compared_with_the_same_editor_used_directly() -> None:
    found = card()
    (difference,) = [d for d in found.differences if (d.first, d.second) == ("A", "B")]
    assert difference.value is not None
    over = cells(found, MADE)["B"]["S gain over direct"]
    assert over.text == f"{-difference.value:+.2f}"
    assert over.mark == "strong"
    assert cells(found, MADE)["A"]["S gain over direct"].text == ""
    best, steps = edit_costs.cost_sentences(found, MADE)
    assert best.startswith(f"openai:x: best-of:4 changes S by {-difference.value:+.2f} [+")
    assert best.endswith("compared with direct (significant), at 5 times the cost.")
    assert steps.endswith("compared with direct (significant), at 5.5 times the cost.")
    alike = edit_costs.cost_sentences(card(gap=0.0), MADE)
    assert all("(not significant)" in line for line in alike)


def test_without_a_price_time_is_compared() -> None:
    made = {
        "A": EditProvenance("hf:x", "direct", 10, CallCosts(10, None, 20.0)),
        "B": EditProvenance("hf:x", "best-of:2", 10, CallCosts(20, None, 50.0)),
    }
    (line,) = edit_costs.cost_sentences(card(), made)
    assert line.endswith("at 2.5 times the time.")
    two = {**made, "C": replace(made["A"])}
    assert edit_costs.cost_sentences(card(), two) == [], "there are two candidates to compare with"


def test_a_manifest_keeps_all_costs() -> None:
    facts = {name: maker.to_dict() for name, maker in MADE.items()}
    assert read_provenance({PROVENANCE_KEY: facts}) == MADE
    assert read_provenance({}) == {}
    found = edit_costs.cost_json(MADE)
    assert found["B"]["cost_per_edit"] == pytest.approx(0.2)
    assert found["D"]["cost_per_edit"] is None
    assert found["D"]["seconds_per_edit"] == pytest.approx(3.0)


def test_a_plot_of_money() -> None:
    found = card()
    figure = plots.cost(found, MADE)
    (axes,) = drawn(figure)
    places = {(MADE[n].cost_per_edit, value(found, n, "S")) for n in "ABC"}
    assert marks(axes) == {(round(x or 0.0, 6), y) for x, y in places}
    assert axes.get_xlabel() == "US dollars per edit"
    assert axes.get_xscale() == "linear"
    (line,) = [one for one in axes.lines if len(one.get_xdata()) == 3]
    assert [round(float(x), 6) for x in line.get_xdata()] == [0.04, 0.2, 0.22]
    words = " ".join(texts(figure))
    assert "Not shown, cost unknown: E, D" in words.replace("\n", " ")
    far = {**MADE, "D": EditProvenance("y", "direct", 20, CallCosts(20, 40.0, 1.0))}
    (axes,) = drawn(plots.cost(found, far))
    assert axes.get_xscale() == "log"


def test_a_plot_of_time_if_costs_are_unknown() -> None:
    """Costs of zero are treated like unknown costs."""
    for cost in (None, 0.0):
        made = {n: EditProvenance(n, "direct", 10, CallCosts(10, cost, 10.0 + at)) for at, n in enumerate("AB")}
        (axes,) = drawn(plots.cost(card(2), made))
        assert axes.get_xlabel() == "seconds of calls per edit"
        assert sorted(x for x, _ in marks(axes)) == [1.0, 1.1]
    free = {**made, "A": EditProvenance("A", "direct", 10, CallCosts(10, 5.0, 1.0))}
    (axes,) = drawn(plots.cost(card(2), free))
    assert sorted(x for x, _ in marks(axes)) == [0.0, 0.5]
    with pytest.raises(CrevalError, match="the cost and time of this run's edits are unknown"):
        plots.cost(card(2), {})


def test_a_plot_of_hostile_names() -> None:
    names = EVIL
    found = build_scorecard(replace(card(len(names)).table, models=names), resamples=100)
    made = {n: EditProvenance(n, n, 10, CallCosts(10, 1.0 + at, 1.0)) for at, n in enumerate(names)}
    plots.figure_svg(plots.cost(found, made))
    assert edit_costs.cost_table(found, made).rows
    assert "\x1b" not in "".join(edit_costs.cost_sentences(found, made))
