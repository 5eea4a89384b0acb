"""Tests of the headline: only significant differences are named."""

from __future__ import annotations

import numpy as np

from creval.reporting.commands.sensitivity_output import sensitivity_output
from creval.reporting.headline import strengths_and_weaknesses
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Scorecard, build_scorecard
from creval.stats.weight_sensitivity import analyse_sensitivity, lowest_leads
from tests.stats.made import table


def card(lead: float, noise: float = 10.0) -> Scorecard:
    """Three models on 90 samples in nine groups; the first leads by `lead` in the first metric, in the first group."""
    chance = np.random.default_rng(3)
    values = chance.normal(50, noise, (3, 90, 3))
    groups = [n % 9 for n in range(90)]
    values[0, np.array(groups) == 0, 0] += 9 * lead
    return build_scorecard(table(values, groups), resamples=200)


def test_noise_has_neither_strengths_nor_weaknesses() -> None:
    shown = strengths_and_weaknesses(card(0.0))
    assert {cell for row in shown.rows for cell in row[2:]} == {"–"}
    assert "A dash: no significant difference." in shown.caption


def test_a_decided_strength_is_named_with_its_interval() -> None:
    found = card(8.0)
    (row,) = (row for row in strengths_and_weaknesses(found).rows if row[0] == found.table.models[0])
    assert str(row[2]).startswith("IF (+")
    low, high = (float(end) for end in str(row[2]).partition("[")[2].rstrip("])").split(","))
    lead = found.cell(found.table.models[0], "IF").value or 0.0
    lead -= sum(found.cell(name, "IF").value or 0.0 for name in found.table.models[1:]) / 2
    assert 0 < low < lead < high
    assert row[3] == "–"


def test_noise_gives_one_of_many_strengths_at_most_in_a_twentieth_of_rows() -> None:
    chance, named = np.random.default_rng(11), 0
    for _ in range(40):
        values = chance.normal(50, 10, (3, 90, 3))
        made = build_scorecard(table(values, [n % 9 for n in range(90)]), resamples=100)
        named += sum(cell != "–" for row in strengths_and_weaknesses(made).rows for cell in row[2:4])
    assert named <= 15, "6 of 120 rows are expected; more than 15 have a probability of 0.001"


def test_a_model_is_called_best_under_weights_only_if_its_lead_is_significant() -> None:
    open_ = analyse_sensitivity(card(0.0))
    assert not open_.best_is_decided
    assert sum(open_.decided_shares.values()) < 0.2
    (sentence,) = sensitivity_output(open_, {}).sentences
    assert " comes first at 4 : 4 : 2 (IF, VC, VQ), but its lead is not significant. " in sentence
    clear = analyse_sensitivity(build_scorecard(_apart(), resamples=200))
    assert clear.best_is_decided
    assert clear.decided_shares[clear.best] == 1.0
    assert sensitivity_output(clear, {}).sentences[0].startswith(f"{clear.best} is best at 4 : 4 : 2")


def _apart() -> ScoreTable:
    chance = np.random.default_rng(5)
    values = chance.normal(50, 2, (3, 90, 3)) + np.array([20.0, 10.0, 0.0])[:, None, None]
    return table(values, [n % 9 for n in range(90)])


def test_a_lead_is_low_by_the_quantile_of_its_paired_draws() -> None:
    chance = np.random.default_rng(7)
    draws = chance.normal(0, 1, (400, 2, 2)) + np.array([[3.0, 0.0], [0.0, 1.0]])
    weights = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = lowest_leads(np.array([[3.0, 0.0], [0.0, 1.0]]), draws, weights)
    first = np.quantile(draws[:, 0, 0] - draws[:, 1, 0], 0.025)
    second = np.quantile(draws[:, 1, 1] - draws[:, 0, 1], 0.025)
    np.testing.assert_allclose(found, [first, second])
