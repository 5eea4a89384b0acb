from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.report.plots import save, ternary
from creval.stats.correlation import kendall_of_rows
from creval.stats.scorecard import Scorecard, scorecard
from creval.stats.sensitivity import sensitivity, simplex
from tests.stats.made import table


def made(*rows: tuple[float, float, float]) -> Scorecard:
    values = np.repeat(np.array(rows)[:, None, :], 6, axis=1)
    return scorecard(table(values, [0] * 6), resamples=100)


def test_the_simplex_has_every_choice_once() -> None:
    found = simplex(3, 10)
    assert len(found) == 11 * 12 / 2
    assert np.allclose(found.sum(axis=1), 1)
    assert len(np.unique(found, axis=0)) == len(found)


def test_two_models_by_hand() -> None:
    """A has 80, 60, 70 and B 60, 80, 70: A wins where IF weighs more than VC."""
    found = sensitivity(made((80, 60, 70), (60, 80, 70)))
    assert found.wins["A"] == pytest.approx(0.5)
    assert found.places == {"A": (1, 2), "B": (1, 2)}
    assert found.own == pytest.approx((0.4, 0.4, 0.2))
    other = found.systems[1]
    assert found.changes[other] == pytest.approx(0.02, abs=0.011), "they are level at 4 : 4 : 2"


def test_who_is_better_in_everything_wins_everywhere() -> None:
    found = sensitivity(made((80, 80, 80), (60, 70, 79)))
    assert found.wins == {"A": 1.0, "B": 0.0}
    assert found.changes == {"B": None}
    assert found.tau == pytest.approx(1.0)


def test_kendalls_tau_is_that_of_scipy() -> None:
    expected = import_module("scipy.stats").kendalltau
    chance = np.random.default_rng(1)
    rows = chance.integers(0, 4, (30, 6)).astype(float)
    base = chance.integers(0, 4, 6).astype(float)
    ours = kendall_of_rows(rows, base[None])
    assert ours == pytest.approx([expected(row, base).statistic for row in rows], nan_ok=True)


def test_a_plot_is_written_by_its_suffix(tmp_path: Path) -> None:
    figure = ternary(sensitivity(made((80, 60, 70), (60, 80, 70), (50, 50, 90))))
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        save(figure, tmp_path / "new" / f"plot{suffix}")
        assert (tmp_path / "new" / f"plot{suffix}").read_bytes().startswith(start)
    with pytest.raises(CrevalError, match=r"ends in \.svg"):
        save(figure, tmp_path / "plot.xls")


def test_names_cannot_hurt_a_plot(tmp_path: Path) -> None:
    from dataclasses import replace

    values = np.random.default_rng(1).normal(50, 5, (2, 6, 3))
    evil = replace(table(values, [0] * 6), systems=("$\\frac{1", "x" * 200))
    save(ternary(sensitivity(scorecard(evil, resamples=100))), tmp_path / "plot.svg")
