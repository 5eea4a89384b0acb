"""Sentences about stopping that a reader can quote."""

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
TOOK = "That took 90 of 900 samples and 1,950 of 27,000 answers (7.2 %), at a risk of 5 % to "


def said(outcome: StoppingOutcome) -> str:
    (sentence,) = early_stopping_output(outcome).sentences
    return sentence


def test_who_is_best() -> None:
    rest = f"{TOOK}decide falsely, however often one looked."
    assert said(FOUND) == f"A is the best of 2 models on S. {rest}"
    within = replace(FOUND, rule=StoppingRule(margin=1.5), reason=WITHIN_MARGIN)
    assert said(within) == (
        "A is the best of 2 models on S within 1.5 points: none is further ahead. "
        f"{TOOK}decide falsely (margin 1.5), however often one looked."
    )


def test_who_may_be_best() -> None:
    left = replace(FOUND, best=None, undecided=("A", "B\x1b"), reason=OUT_OF_SAMPLES)
    assert said(left).startswith(r"Who is best on S is not decided between A and B\x1b. That")
    assert "is not decided yet between" in said(replace(left, reason=NOT_FINISHED))


def test_the_order() -> None:
    ranked = replace(FOUND, rule=StoppingRule(RANKING))
    assert said(ranked).startswith(r"On S the order of 2 models is decided: A, B\x1b. That")
    equal = (("A", "B\x1b"),)
    within = replace(ranked, rule=StoppingRule(RANKING, margin=2.0), reason=WITHIN_MARGIN, equal_pairs=equal)
    words = r"decided within 2 points: A, B\x1b, where these count as equal: A and B\x1b. That"
    assert words in said(within)
    left = replace(ranked, reason=OUT_OF_SAMPLES, best=None, open_pairs=(("A", "B\x1b"),))
    assert r"of 2 models is not decided: open is A and B\x1b. That" in said(left)


def test_the_table_shows_what_is_known() -> None:
    (grid,) = early_stopping_output(FOUND).tables
    assert grid.rows == [
        ["A", "best", "90", "1,350", "80.00", "", ""],
        ["B\x1b", "worse", "40", "600", "–", "-5.25", ""],
    ]
