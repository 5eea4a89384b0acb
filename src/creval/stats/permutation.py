"""Sign-flip test of the difference between two models.

If the models did not differ, the scores of each sample could be swapped between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from creval.stats.aggregate import child_groups
from creval.stats.score_table import Floats, Integers, ScoreTable

SIGN_FLIPS = 10_000
"""Random sign flips that are tried if there are too many to try all."""
_MAX_EXHAUSTIVE = 13  # most clusters for which all sign flips are tried
_BATCH_SIZE = 2_000  # sign flips in memory at a time
_PAIRS_AT_ONCE = 200


def p_values(blocks: Iterable[ScoreTable], seed: int = 0) -> list[float | None]:
    """Return the two-sided sign-flip p-value of each pair of `ScoreTable.select_pairs` in the ranking column.

    The pairs may come in several tables. Samples of one cluster are flipped together. The p-value is None if one of the
    two models has no value of a supported sample in a metric of the column.
    """
    there: list[bool] = []
    sums = []
    for pairs in blocks:
        columns = pairs.schema.component_indices(pairs.schema.ranking_column)
        there += [
            bool((one.any(axis=0) & two.any(axis=0)).all())
            for one, two in zip(*(pairs.supported[at::2, :, columns] for at in (0, 1)), strict=True)
        ]
        shares = sample_contributions(pairs)
        units = np.zeros((pairs.clusters.max(initial=-1) + 1, len(shares)))
        np.add.at(units, pairs.clusters, shares.T)
        sums.append(units)
    units = np.concatenate(sums, axis=1)
    values = _sign_flip_p_values(units[(units != 0).any(axis=1)], seed)
    return [float(p) if has else None for p, has in zip(values, there, strict=True)]


def sample_contributions(pairs: ScoreTable) -> Floats:
    """Return each sample's contribution to the difference of each pair in the ranking column; axes pair, sample."""
    card = pairs.schema
    weights = card.component_weights(card.ranking_column)
    apart = pairs.values[::2] - pairs.values[1::2]
    found = np.zeros(apart.shape[:2])
    for at in card.component_indices(card.ranking_column):
        for number, values in enumerate(apart[..., at]):
            share = _group_sample_weights(pairs, "overall", 0, ~np.isnan(values))
            found[number] += weights[card.metrics[at].name] * share * np.nan_to_num(values)
    return found


def _group_sample_weights(table: ScoreTable, level: str, group: int, present: NDArray[np.bool_]) -> Floats:
    """Return the weight of each sample in the mean of a group; 0 for samples that are not present."""
    of = table.schema.find_level(level).mean_of
    if of is None:
        inside = (table.group_mask(level, group) & present).astype(np.float64)
        total = inside.sum()
        return inside / total if total else inside
    parts = [_group_sample_weights(table, of, at, present) for at in child_groups(table, level, of)[group]]
    parts = [part for part in parts if part.any()]
    if not parts:
        return np.zeros(len(present))
    mean: Floats = np.mean(parts, axis=0)
    return mean


def _sign_flip_p_values(cluster_sums: Floats, seed: int) -> Floats:
    """Return, for each pair, the share of sign flips with a difference at least as large as observed.

    `cluster_sums` has the axes cluster, pair.
    """
    # The tolerance allows for rounding: sums in another order differ in their last digits.
    least = np.abs(cluster_sums.sum(axis=0)) * (1 - 1e-9) - 1e-12
    if len(cluster_sums) <= _MAX_EXHAUSTIVE:
        ways = np.arange(2 ** len(cluster_sums))[:, None] >> np.arange(len(cluster_sums)) & 1
        return _count_extreme(ways, cluster_sums, least) / len(ways)
    chance = np.random.default_rng(seed)
    reached = np.ones(cluster_sums.shape[1])
    for start in range(0, SIGN_FLIPS, _BATCH_SIZE):
        count = min(_BATCH_SIZE, SIGN_FLIPS - start)
        reached += _count_extreme(chance.integers(0, 2, (count, len(cluster_sums))), cluster_sums, least)
    return reached / (SIGN_FLIPS + 1)


def _count_extreme(flips: Integers, cluster_sums: Floats, threshold: Floats) -> Floats:
    signs = 1.0 - 2.0 * flips
    reached = np.empty(len(threshold))
    for start in range(0, len(threshold), _PAIRS_AT_ONCE):
        some = slice(start, start + _PAIRS_AT_ONCE)
        reached[some] = (np.abs(signs @ cluster_sums[:, some]) >= threshold[some]).sum(axis=0)
    return reached


def holm_correction(values: Sequence[float | None]) -> list[float | None]:
    """Correct the p-values of several tests with Holm's method.

    >>> holm_correction([0.01, 0.04, 0.03, None])
    [0.03, 0.06, 0.06, None]
    """
    order = sorted((value, at) for at, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    most = 0.0
    for rank, (value, at) in enumerate(order):
        most = max(most, min(1.0, (len(order) - rank) * value))
        found[at] = most
    return found
