"""Tests of the sentences and table about early stopping."""

from __future__ import annotations

from dataclasses import replace

from creval.core.schema import Digits
from creval.reporting.commands.early_stopping_output import early_stopping_output
from creval.stats.early_stopping import (
    NOT_FINISHED,
    OUT_OF_SAMPLES,
    SETTLED,
    WITHIN_MARGIN,
    ModelStanding,
    StoppingOutcome,
)
from creval.stats.elimination import RANKING, StoppingRule

STANDINGS = (
    ModelStanding("A", "best", 90, 1350, 80.0, None, None, None),
    ModelStanding("B\x1b", "worse", 40, 600, None, -5.25, -9.0, None),
)
FOUND = StoppingOutcome(
    StoppingRule(), "S", SETTLED, "A", (), ("A", "B\x1b"), (), (), 1950, 27000, 90, 900, STANDINGS, Digits()
)
USED = "Used 90 of 900 samples and 1,950 of 27,000 answers (7.2 %). The risk of a wrong decision is at most 5 %"
LOOKS = "regardless of how often results were checked."


def said(outcome: StoppingOutcome) -> str:
    (sentence,) = early_stopping_output(outcome).sentences
    return sentence


def test_the_best_model() -> None:
    assert said(FOUND) == f"A is the best of 2 models in S. {USED}, {LOOKS}"
    within = replace(FOUND, rule=StoppingRule(margin=1.5), reason=WITHIN_MARGIN)
    assert said(within) == (
        f"A is the best of 2 models in S within 1.5 points: no model leads it by more. {USED} (margin 1.5), {LOOKS}"
    )


def test_candidates_for_the_best_model() -> None:
    left = replace(FOUND, best=None, undecided=("A", "B\x1b"), reason=OUT_OF_SAMPLES)
    assert said(left).startswith(r"The best model in S is not decided. Candidates: A and B\x1b. Used")
    assert "is not decided yet. Candidates:" in said(replace(left, reason=NOT_FINISHED))


def test_the_ranking() -> None:
    ranked = replace(FOUND, rule=StoppingRule(RANKING))
    assert said(ranked).startswith(r"The ranking of 2 models in S is decided: A, B\x1b. Used")
    equal = (("A", "B\x1b"),)
    within = replace(ranked, rule=StoppingRule(RANKING, margin=2.0), reason=WITHIN_MARGIN, equal_pairs=equal)
    words = r"decided within 2 points: A, B\x1b. These count as equal: A and B\x1b. Used"
    assert words in said(within)
    left = replace(ranked, reason=OUT_OF_SAMPLES, best=None, open_pairs=(("A", "B\x1b"),))
    assert r"of 2 models in S is not decided. Undecided pairs: A and B\x1b. Used" in said(left)


def test_unknown_values_are_shown_as_dashes_or_left_empty() -> None:
    (grid,) = early_stopping_output(FOUND).tables
    assert grid.rows == [
        ["A", "best", "90", "1,350", "80.00", "", ""],
        ["B\x1b", "worse", "40", "600", "–", "-5.25", ""],
    ]
