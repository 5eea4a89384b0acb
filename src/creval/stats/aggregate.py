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


def aggregate(table: ScoreTable, parts: Sequence[Integers], counts: Floats) -> dict[str, Floats]:
    """Each level's values when each sample counts as often as `counts` says.

    `counts` has the axes draw, sample. The result has, for each level, the axes draw, group,
    system, column: the metrics and the composite. NaN is no value.
    """
    systems, _, metrics = table.values.shape
    here = ~np.isnan(table.values)
    filled = np.where(here, table.values, 0.0)
    sums: list[Floats] = []
    sizes: list[Floats] = []
    for part in parts:
        drawn = np.ascontiguousarray(counts[:, part])
        for source, into in ((filled, sums), (here.astype(np.float64), sizes)):
            flat = source[:, part].transpose(1, 0, 2).reshape(len(part), -1)
            into.append((drawn @ flat).reshape(len(drawn), systems, metrics))
    return _levels(table, parts, np.stack(sums, axis=1), np.stack(sizes, axis=1))


def _levels(
    table: ScoreTable, parts: Sequence[Integers], sums: Floats, sizes: Floats
) -> dict[str, Floats]:
    values: dict[str, Floats] = {}
    waiting = list(table.card.levels)
    while waiting:
        level = next(level for level in waiting if level.of is None or level.of in values)
        waiting.remove(level)
        means = []
        if level.of is None:
            for group in range(len(level.groups)):
                inside = table.members(level.name, group)
                chosen = [n for n, part in enumerate(parts) if inside[part[0]]]
                with np.errstate(invalid="ignore", divide="ignore"):
                    means.append(sums[:, chosen].sum(axis=1) / sizes[:, chosen].sum(axis=1))
        else:
            for finer in children(table, level.name, level.of):
                means.append(_mean_of_present(values[level.of][:, finer]))
        values[level.name] = np.stack(means, axis=1)
    return {name: add_composite(table.card, found) for name, found in values.items()}


def children(table: ScoreTable, level: str, of: str) -> list[list[int]]:
    """For each group of a level, the groups of the finer level whose samples lie in it."""
    groups = range(len(table.card.level(level).groups))
    found = [np.unique(table.groups[of][table.members(level, group)]) for group in groups]
    return [[int(group) for group in inside if group >= 0] for inside in found]


def _mean_of_present(values: Floats) -> Floats:
    here = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(here, values, 0.0).sum(axis=1) / here.sum(axis=1)
    return mean
