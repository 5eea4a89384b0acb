"""Elimination of models, and its error rates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from creval.core.errors import CrevalError
from creval.stats.elimination import RANKING, Elimination, StoppingRule
from creval.stats.score_table import Floats, Integers
from tests.stats.test_confidence_sequence import even

DIMENSIONS = 9


class Raced(NamedTuple):
    race: Elimination
    seen: Floats
    used: Floats

    def named(self) -> Integers:
        """Return the best model of each run, or -1 if undecided."""
        alone = self.race.settled & (self.race.active.sum(axis=1) == 1)
        return np.where(alone, self.race.active.argmax(axis=1), -1)


def raced(values: Floats, strata: Integers, rule: StoppingRule, order: Integers | None = None) -> Raced:
    """Eliminate over values with the axes run, model, sample, with a look after every sample."""
    runs, models, size = values.shape
    race = Elimination(rule, np.bincount(strata).astype(np.float64), models, stratum_weights=even, runs=runs)
    seen, used = np.zeros(runs), np.zeros((runs, models))
    rows = np.arange(runs)
    for at in range(size):
        if race.settled.all():
            break
        now = np.full(runs, at) if order is None else order[:, at]
        seen += ~race.settled
        used += race.active & ~race.settled[:, None]
        race.add(strata[now], values[rows, :, now])
    return Raced(race, seen, used)


def orders(strata: Integers, runs: int, generator: np.random.Generator) -> Integers:
    """Return random orders in which the strata alternate."""
    found = np.empty((runs, len(strata)), dtype=np.int64)
    members = [np.flatnonzero(strata == number) for number in range(strata.max() + 1)]
    turn = np.concatenate([np.arange(len(inside)) for inside in members])
    for run in range(runs):
        mixed = np.concatenate([generator.permutation(inside) for inside in members])
        found[run] = mixed[np.argsort(turn, kind="stable")]
    return found


def equals(runs: int, models: int, size: int, seed: int, kind: str = "normal") -> Floats:
    """Return values of equally good models on samples of varying difficulty."""
    generator = np.random.default_rng(seed)
    shape = (runs, models, size)
    if kind == "normal":
        return generator.normal(75, 10, (runs, 1, size)) + generator.normal(0, 12, shape)
    if kind == "skewed":
        return 100 - np.minimum(generator.exponential(20, shape), 100)
    return np.where(generator.random(shape) < 0.9, 100.0, 0.0)


def strata_of(size: int) -> Integers:
    return np.arange(size, dtype=np.int64) % DIMENSIONS


def test_the_better_of_two_is_found_and_the_worst_dropped_first() -> None:
    generator = np.random.default_rng(0)
    values = np.array([80.0, 72.0, 40.0])[:, None] + generator.normal(0, 15, (20, 3, 900))
    done = raced(values, strata_of(900), StoppingRule())
    assert (done.named() == 0).all()
    assert (done.used[:, 2] <= done.used[:, 1]).all()
    np.testing.assert_array_equal(done.used[:, 0], done.seen)
    assert done.race.beaten[:, 1:].all()
    assert done.used[:, 2].mean() < 50 < done.used[:, 1].mean() < 200


def test_within_the_margin_either_of_two_may_be_best() -> None:
    generator = np.random.default_rng(1)
    values = np.array([75.0, 75.0, 60.0])[:, None] + generator.normal(0, 15, (20, 3, 900))
    without, within = (raced(values, strata_of(900), StoppingRule(margin=m)) for m in (0.0, 3.0))
    assert (without.named() >= 0).mean() <= 0.15
    assert (within.named() >= 0).all()
    assert (within.named() != 2).all()
    assert within.seen.mean() < 0.7 * 900


def test_the_margin_is_not_transitive() -> None:
    # Each is 2 below the next: the first and the last differ by more than 3.
    generator = np.random.default_rng(2)
    values = np.array([76.0, 74.0, 72.0])[:, None] + generator.normal(0, 4, (50, 3, 900))
    assert (raced(values, strata_of(900), StoppingRule(margin=3.0)).named() < 2).all()


def test_all_samples_settle_a_margin_but_no_tie() -> None:
    values = equals(10, 2, 90, seed=3)
    whole = raced(values, strata_of(90), StoppingRule(margin=0.001))
    last = whole.seen == 90
    assert last.sum() >= 2
    assert (whole.named() >= 0).all()
    np.testing.assert_array_equal(whole.named()[last], values.mean(axis=2).argmax(axis=1)[last])
    same = np.repeat(values[:, :1], 2, axis=1)
    assert (raced(same, strata_of(90), StoppingRule()).named() == -1).all()
    assert (raced(same, strata_of(90), StoppingRule(margin=1.0)).named() >= 0).all()


def test_without_any_values_nothing_is_settled() -> None:
    for question in ("best", RANKING):
        for margin in (0.0, 5.0):
            nothing = np.full((1, 2, 90), np.nan)
            done = raced(nothing, strata_of(90), StoppingRule(question, margin=margin))
            assert not done.race.settled.any()
            assert done.race.active.all()


def test_a_ranking_is_settled_pair_by_pair() -> None:
    generator = np.random.default_rng(4)
    values = np.array([80.0, 79.5, 60.0])[:, None] + generator.normal(0, 10, (1, 3, 900))
    strict = raced(values, strata_of(900), StoppingRule(RANKING)).race
    assert strict.open_pairs() == [(0, 1)]
    assert strict.active.tolist() == [[True, True, False]]
    within = raced(values, strata_of(900), StoppingRule(RANKING, margin=2.0)).race
    assert within.settled.all()
    assert within.open_pairs() == []


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 0.7}, {"margin": -1.0}])
def test_a_rule_validates_its_values(wrong: dict[str, float]) -> None:
    with pytest.raises(CrevalError, match=r"`alpha`|`margin`"):
        StoppingRule(**wrong)  # type: ignore[arg-type]
    with pytest.raises(CrevalError, match="did you mean 'best'"):
        StoppingRule("bestt")


@pytest.mark.parametrize("kind", ["normal", "skewed", "binary"])
@pytest.mark.parametrize("models", [2, 5])
def test_equal_models_are_rarely_decided(models: int, kind: str) -> None:
    done = raced(equals(200, models, 360, 5, kind), strata_of(360), StoppingRule())
    assert (~done.race.active).any(axis=1).mean() <= 0.05, "not even one is dropped"


def test_pairs_of_equal_models_are_rarely_settled() -> None:
    done = raced(equals(200, 4, 360, 6), strata_of(360), StoppingRule(RANKING))
    begun = [len(done.race.open_pairs(run)) < 6 for run in range(200)]
    assert np.mean(begun) <= 0.05


@pytest.mark.study
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_a_ranking_is_rarely_wrong_in_2000_sets(margin: float) -> None:
    # Each is better than the next by one point: in the population, then on exactly these samples.
    values = equals(2000, 4, 900, seed=10)
    if margin:
        values += 75 - values.mean(axis=2, keepdims=True)
    values += np.array([3.0, 2.0, 1.0, 0.0])[:, None]
    strata, wrong = strata_of(900), np.zeros(2000, dtype=np.bool_)
    race = Elimination(StoppingRule(RANKING, margin=margin), np.full(9, 100.0), 4, stratum_weights=even, runs=2000)
    first, second = np.triu_indices(4, 1)
    for at in range(900):
        race.add(np.full(2000, strata[at]), values[:, :, at])
        low, high = race.bounds.low[:, first, second], race.bounds.high[:, first, second]
        near = (low > -margin) & (high < margin) & (margin > 0)
        wrong |= np.logical_or.reduce((high < 0) | near, axis=1)
    assert wrong.mean() <= 0.05
    assert np.mean([len(race.open_pairs(run)) for run in range(2000)]) < 4.5


@pytest.mark.study
@pytest.mark.parametrize("kind", ["normal", "skewed", "binary"])
@pytest.mark.parametrize(("models", "size"), [(2, 900), (2, 180), (2, 72), (3, 900), (8, 450)])
def test_equal_models_are_rarely_decided_in_2000_sets(models: int, size: int, kind: str) -> None:
    done = raced(equals(2000, models, size, 7, kind), strata_of(size), StoppingRule())
    assert (~done.race.active).any(axis=1).mean() <= 0.05, "not even one is dropped"


@pytest.mark.study
@pytest.mark.parametrize("gap", [0.0, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_a_model_worse_by_the_margin_is_rarely_best_in_2000_orders(margin: float, gap: float) -> None:
    # The best two are exactly the margin apart on all samples; three others are worse.
    generator = np.random.default_rng(9)
    values = generator.normal(75, 10, 900) + generator.normal(0, 12, (5, 900))
    values += 75 - values.mean(axis=1, keepdims=True)
    values += np.array([margin, 0.0, -gap, -gap, -gap])[:, None]
    strata = strata_of(900)
    runs = np.broadcast_to(values, (2000, *values.shape))
    done = raced(runs, strata, StoppingRule(margin=margin), orders(strata, 2000, generator))
    wrong = done.named() >= (1 if margin else 0)
    assert wrong.mean() <= 0.05
