from __future__ import annotations

from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.reporting.plots import save_figure, ternary
from creval.stats.correlation import rowwise_kendall
from creval.stats.scorecard import Scorecard, build_scorecard
from creval.stats.weight_sensitivity import analyse_sensitivity, simplex_grid
from tests.stats.made import table


def made(*rows: tuple[float, float, float]) -> Scorecard:
    values = np.repeat(np.array(rows)[:, None, :], 6, axis=1)
    return build_scorecard(table(values, [0] * 6), resamples=100)


def test_the_simplex_has_every_choice_once() -> None:
    found = simplex_grid(3, 10)
    assert len(found) == 10 * 10
    assert len(simplex_grid(4, 10)) == 10 * 11 * 12 / 6
    assert (found > 0).all(), "nothing lies on an edge"
    assert np.allclose(found.sum(axis=1), 1)
    assert len(np.unique(found, axis=0)) == len(found)


def test_two_models_by_hand() -> None:
    """A has 80, 60, 70 and B has 60, 80, 70: A wins if IF weighs more than VC."""
    found = analyse_sensitivity(made((80, 60, 70), (60, 80, 70)))
    assert found.win_shares["A"] == pytest.approx(0.5)
    assert found.rank_ranges == {"A": (1, 2), "B": (1, 2)}
    assert found.own_weights == pytest.approx((0.4, 0.4, 0.2))
    other = found.models[1]
    assert found.weight_changes[other] == 0.0, "they are level at 4 : 4 : 2"


def test_shares_and_changes_of_three_models() -> None:
    """Compare with two million random weights, and with a linear program."""
    linprog = import_module("scipy.optimize").linprog
    values = np.array([[86.2, 68.0, 90.5], [89.0, 63.3, 91.2], [70.7, 73.2, 86.1]])
    found = analyse_sensitivity(made(*map(tuple, values.tolist())))
    drawn = np.random.default_rng(0).dirichlet([1, 1, 1], 200_000)
    shares = np.bincount((drawn @ values.T).argmax(axis=1)) / len(drawn)
    assert [found.win_shares[name] for name in "ABC"] == pytest.approx(shares, abs=0.003)
    own = np.array([0.4, 0.4, 0.2])
    for at, name in enumerate("BC", 1):
        # Least t such that weights within t of those in use bring the other model level or ahead.
        within = np.block([[np.eye(3), -np.ones((3, 1))], [-np.eye(3), -np.ones((3, 1))]])
        level = np.append(values[0] - values[at], 0.0)
        least = linprog([0, 0, 0, 1], np.vstack([within, level]), [*own, *-own, 0.0], [[1, 1, 1, 0]], [1.0])
        assert found.weight_changes[name] == pytest.approx(least.fun, abs=1e-9)


def test_ties_on_an_edge_are_not_wins() -> None:
    found = analyse_sensitivity(made((90, 90, 100), (50, 90, 100)))
    assert found.win_shares == {"A": 1.0, "B": 0.0}
    assert found.weight_changes == {"B": None}


def test_a_model_that_is_better_in_every_metric_wins_everywhere() -> None:
    found = analyse_sensitivity(made((80, 80, 80), (60, 70, 79)))
    assert found.win_shares == {"A": 1.0, "B": 0.0}
    assert found.weight_changes == {"B": None}
    assert found.kendall_tau == pytest.approx(1.0)


def test_kendalls_tau_is_that_of_scipy() -> None:
    expected = import_module("scipy.stats").kendalltau
    chance = np.random.default_rng(1)
    rows = chance.integers(0, 4, (30, 6)).astype(float)
    base = chance.integers(0, 4, 6).astype(float)
    ours = rowwise_kendall(rows, base[None])
    assert ours == pytest.approx([expected(row, base).statistic for row in rows], nan_ok=True)


def test_a_plot_is_written_by_its_suffix(tmp_path: Path) -> None:
    figure = ternary(analyse_sensitivity(made((80, 60, 70), (60, 80, 70), (50, 50, 90))))
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        save_figure(figure, tmp_path / "new" / f"plot{suffix}")
        assert (tmp_path / "new" / f"plot{suffix}").read_bytes().startswith(start)
    with pytest.raises(CrevalError, match=r"ends in \.svg"):
        save_figure(figure, tmp_path / "plot.xls")


def test_markup_in_names_is_escaped_in_a_plot(tmp_path: Path) -> None:
    from dataclasses import replace

    good = made((80, 60, 70), (60, 80, 70)).table  # each is best under some weights
    evil = replace(good, models=("$\\frac{1", "x" * 200))
    save_figure(ternary(analyse_sensitivity(build_scorecard(evil, resamples=100))), tmp_path / "plot.svg")
    texts = "".join(ElementTree.parse(tmp_path / "plot.svg").getroot().itertext())
    assert "$\\frac{1" in texts, "as it is, and not as a formula"
    assert "xxxx…xxxx" in texts, "long names are cut"
