"""Whether two systems differ at all: if they did not, each sample's scores could as well be the
other's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from creval.stats.aggregate import children
from creval.stats.score_table import Floats, Integers, ScoreTable

FLIPS = 10_000
"""How many ways of changing samples' sides are tried, where all are too many."""
_ALL = 13  # units whose sides can be changed in every way
_AT_ONCE = 2_000


def p_values(pairs: ScoreTable, seed: int = 0) -> list[float | None]:
    """The sign-flip p-value of each pair in the column that ranks; two-sided.

    The table is of `ScoreTable.pairs`. Samples made from one picture change sides together. None
    where one of the two has no value of its own in a metric behind the column.
    """
    names = pairs.card.rests_on(pairs.card.ranking)
    columns = [at for at, metric in enumerate(pairs.card.metrics) if metric.name in names]
    there = [
        bool((one.any(axis=0) & two.any(axis=0)).all())
        for one, two in zip(*(pairs.earned[at::2, :, columns] for at in (0, 1)), strict=True)
    ]
    shares = contributions(pairs)
    units = np.zeros((pairs.units.max(initial=-1) + 1, len(shares)))
    np.add.at(units, pairs.units, shares.T)
    values = _p_values(units[(units != 0).any(axis=1)], seed)
    return [float(p) if has else None for p, has in zip(values, there, strict=True)]


def contributions(pairs: ScoreTable) -> Floats:
    """What each sample adds to the difference of each pair in the column that ranks.

    They sum to the difference; axes pair, sample.
    """
    card = pairs.card
    weights = card.rests_on(card.ranking)
    apart = pairs.values[::2] - pairs.values[1::2]
    found = np.zeros(apart.shape[:2])
    for at, metric in enumerate(card.metrics):
        if metric.name in weights:
            for number, values in enumerate(apart[..., at]):
                share = sample_weights(pairs, ~np.isnan(values))
                found[number] += weights[metric.name] * share * np.nan_to_num(values)
    return found


def sample_weights(table: ScoreTable, here: NDArray[np.bool_]) -> Floats:
    """How much each sample that is there counts in the mean over everything."""
    return _weights(table, "overall", 0, here)


def _weights(table: ScoreTable, level: str, group: int, here: NDArray[np.bool_]) -> Floats:
    of = table.card.level(level).of
    if of is None:
        inside = (table.members(level, group) & here).astype(np.float64)
        total = inside.sum()
        return inside / total if total else inside
    parts = [_weights(table, of, at, here) for at in children(table, level, of)[group]]
    parts = [part for part in parts if part.any()]
    if not parts:
        return np.zeros(len(here))
    mean: Floats = np.mean(parts, axis=0)
    return mean


def _p_values(units: Floats, seed: int) -> Floats:
    """How often sides by chance make differences as large as these; axes unit, pair."""
    # Sums in another order differ in their last digits.
    least = np.abs(units.sum(axis=0)) * (1 - 1e-9) - 1e-12
    if len(units) <= _ALL:
        ways = np.arange(2 ** len(units))[:, None] >> np.arange(len(units)) & 1
        return _reached(ways, units, least) / len(ways)
    chance = np.random.default_rng(seed)
    reached = np.ones(units.shape[1])
    for start in range(0, FLIPS, _AT_ONCE):
        count = min(_AT_ONCE, FLIPS - start)
        reached += _reached(chance.integers(0, 2, (count, len(units))), units, least)
    return reached / (FLIPS + 1)


def _reached(sides: Integers, units: Floats, least: Floats) -> Floats:
    reached: Floats = (np.abs((1.0 - 2.0 * sides) @ units) >= least).sum(axis=0).astype(np.float64)
    return reached


def holm(values: Sequence[float | None]) -> list[float | None]:
    """P-values of several questions asked at once, corrected after Holm.

    >>> holm([0.01, 0.04, 0.03, None])
    [0.03, 0.06, 0.06, None]
    """
    order = sorted((value, at) for at, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    most = 0.0
    for rank, (value, at) in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * value))
        found[at] = most
    return found
