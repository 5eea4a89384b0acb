"""Bradley-Terry strengths, against closed forms, SciPy and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from creval.stats.human.bradley_terry import ELO_PER_LOGIT, fit_strengths
from creval.stats.human.paired_series import EditComparisons
from creval.stats.score_table import Floats


def comparisons(*rows: tuple[int, int, int, float]) -> EditComparisons:
    """Return comparisons from rows of first, second, sample, preference."""
    first, second, sample, people = (np.array(column) for column in zip(*rows, strict=True))
    return EditComparisons(first, second, sample, people.astype(float), np.zeros(len(rows)))


def test_two_models_have_the_log_odds_of_their_wins() -> None:
    rows = [(0, 1, n, 1.0 if n < 15 else -1.0) for n in range(20)]  # A wins 15 of 20
    found = fit_strengths(comparisons(*rows), ["A", "B"], np.arange(20)).strengths
    apart = math.log(15 / 5) * ELO_PER_LOGIT
    assert found["A"].value == pytest.approx(apart / 2)
    assert found["B"].value == pytest.approx(-apart / 2)
    # The delta method: the variance of log-odds is 1 / (n p (1 - p)); half of the difference is each one's strength.
    error = math.sqrt(1 / (20 * 0.75 * 0.25)) * math.sqrt(20 / 19) / 2 * ELO_PER_LOGIT
    assert found["A"].high is not None
    assert found["A"].value is not None
    assert found["A"].high - found["A"].value == pytest.approx(2.093 * error, rel=1e-3)  # Student's t, 19 degrees


def test_a_tie_is_half_a_win() -> None:
    tied = comparisons(*((0, 1, n, 0.0) for n in range(6)))
    found = fit_strengths(tied, ["A", "B"], np.arange(6)).strengths
    assert [found[name].value for name in "AB"] == pytest.approx([0.0, 0.0])


def test_strengths_are_those_of_an_independent_optimiser() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    generator = np.random.default_rng(3)
    rows = [
        (one, two, n, float(generator.choice([-1, 0, 1])))
        for n in range(30)
        for one in range(4)
        for two in range(one + 1, 4)
    ]
    pairs = comparisons(*rows)

    def loss(free: Floats) -> float:
        strengths = np.concatenate([free, [-free.sum()]])
        apart = strengths[pairs.first] - strengths[pairs.second]
        won = (1 + pairs.people) / 2
        return float(-(won * apart - np.log1p(np.exp(apart))).sum())

    expected = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    found = fit_strengths(pairs, list("ABCD"), np.arange(30)).strengths
    assert [found[name].value for name in "ABC"] == pytest.approx(list(expected * ELO_PER_LOGIT), abs=1e-4)
    assert sum(found[name].value or 0 for name in "ABCD") == pytest.approx(0, abs=1e-9)


def test_a_model_that_never_loses_has_no_strength() -> None:
    always = comparisons(*((0, 1, n, 1.0) for n in range(10)))
    assert fit_strengths(always, ["A", "B"], np.arange(10)).strengths == {}


def test_two_groups_that_were_never_compared_have_no_strengths() -> None:
    rows = [(one, one + 1, n, 1.0 if n % 2 else -1.0) for n in range(10) for one in (0, 2)]
    assert fit_strengths(comparisons(*rows), list("ABCD"), np.arange(10)).strengths == {}


def test_choices_about_one_sample_do_not_narrow_the_interval() -> None:
    rows = [(0, 1, n, 1.0 if n < 14 else -1.0) for n in range(20)]
    once = fit_strengths(comparisons(*rows), ["A", "B"], np.arange(20)).strengths["A"]
    thrice = fit_strengths(comparisons(*(rows * 3)), ["A", "B"], np.arange(20)).strengths["A"]
    assert [thrice.value, thrice.low] == pytest.approx([once.value, once.low])


def test_a_difference_is_decided_if_its_interval_excludes_zero() -> None:
    def decided(wins: int) -> tuple[tuple[str, str], ...]:
        rows = [(0, 1, n, 1.0 if n < wins else -1.0) for n in range(20)]
        return fit_strengths(comparisons(*rows), ["A", "B"], np.arange(20)).decided_pairs

    assert decided(10) == ()
    assert decided(12) == ()
    assert decided(17) == (("A", "B"),)
    assert decided(3) == (("B", "A"),)


def test_intervals_cover_the_truth() -> None:
    truth = np.array([1.0, 0.3, -0.4, -0.9]) - np.mean([1.0, 0.3, -0.4, -0.9])
    generator = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        rows = []
        for n in range(60):
            for one in range(4):
                for two in range(one + 1, 4):
                    chance = 1 / (1 + np.exp(truth[two] - truth[one]))
                    rows.append((one, two, n, 1.0 if generator.random() < chance else -1.0))
        found = fit_strengths(comparisons(*rows), list("ABCD"), np.arange(60)).strengths["A"]
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= truth[0] * ELO_PER_LOGIT <= found.high
    assert inside / 200 == pytest.approx(0.95, abs=0.04)
