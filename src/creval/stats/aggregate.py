"""From samples to groups: means of samples, means of groups, and the composite.

Everything here is linear in the samples' values, so one function serves the scores themselves and
every resample of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creval.stats.table import Floats, Integers, ScoreTable, add_composite


def strata(table: ScoreTable) -> list[Integers]:
    """The samples' places, split so finely that every group of the card is a union of parts."""
    keys = np.stack([*table.groups.values(), np.zeros(len(table.samples), dtype=np.int64)])
    _, part = np.unique(keys, axis=1, return_inverse=True)
    part = part.reshape(-1)
    return [np.flatnonzero(part == number) for number in range(part.max(initial=-1) + 1)]


def aggregate(
    table: ScoreTable, parts: Sequence[Integers], counts: Sequence[Floats]
) -> dict[str, Floats]:
    """Each level's values when each sample counts as often as `counts` says.

    `counts` has, for each part, the axes draw, sample of the part. The result has, for each level,
    the axes draw, group, system, column: the metrics and the composite. NaN is no value.
    """
    systems, _, metrics = table.values.shape
    here = ~np.isnan(table.values)
    filled = np.where(here, table.values, 0.0)
    sums: list[Floats] = []
    sizes: list[Floats] = []
    for part, count in zip(parts, counts, strict=True):
        for source, into in ((filled, sums), (here.astype(np.float64), sizes)):
            flat = source[:, part].transpose(1, 0, 2).reshape(len(part), -1)
            into.append((count @ flat).reshape(len(count), systems, metrics))
    return _levels(table, parts, np.stack(sums, axis=1), np.stack(sizes, axis=1))


def _levels(
    table: ScoreTable, parts: Sequence[Integers], sums: Floats, sizes: Floats
) -> dict[str, Floats]:
    card = table.card
    values: dict[str, Floats] = {}
    for level in sorted(card.levels, key=lambda level: level.of is not None):
        if level.of is None:
            members = [
                [n for n, part in enumerate(parts) if table.members(level.name, group)[part[0]]]
                for group in range(len(level.groups))
            ]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = [sums[:, m].sum(axis=1) / sizes[:, m].sum(axis=1) for m in members]
            values[level.name] = np.stack(means, axis=1)
        else:
            inside = children(table, level.name, level.of)
            finer = values[level.of]
            means = [_mean_of_present(finer[:, inside[group]]) for group in range(len(inside))]
            values[level.name] = np.stack(means, axis=1)
    return {name: add_composite(card, found) for name, found in values.items()}


def children(table: ScoreTable, level: str, of: str) -> list[list[int]]:
    """For each group of a level, the groups of the finer level whose samples lie in it."""
    groups = table.card.level(level).groups
    pairs = set(zip(table.groups[level].tolist(), table.groups[of].tolist(), strict=True))
    return [sorted(fine for coarse, fine in pairs if coarse == n) for n in range(len(groups))]


def _mean_of_present(values: Floats) -> Floats:
    here = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(here, values, 0.0).sum(axis=1) / here.sum(axis=1)
    return mean
