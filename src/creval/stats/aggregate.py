"""From samples to groups: means of samples, means of groups, and the composite.

Everything here is linear in the samples' values, so one function serves the scores themselves and
every resample of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from creval.core.card import Card, Level
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
    values = {name: _mean(counts, part.sums, part.counts) for name, part in table.parts.items()}
    return _levels(table, parts, np.stack(sums, axis=1), np.stack(sizes, axis=1), values)


def _mean(counts: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Means of samples' parts; axes draw, group, system, metric."""
    systems, samples, groups, metrics = sums.shape
    drawn = []
    for source in (sums, sizes):
        flat = source.transpose(1, 2, 0, 3).reshape(samples, -1)
        drawn.append((counts @ flat).reshape(len(counts), groups, systems, metrics))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = drawn[0] / drawn[1]
    return mean


def _levels(
    table: ScoreTable,
    parts: Sequence[Integers],
    sums: Floats,
    sizes: Floats,
    values: dict[str, Floats],
) -> dict[str, Floats]:
    waiting = [level for level in table.card.levels if level.name not in values]
    while waiting:
        level = next(level for level in waiting if _needs(level) <= values.keys())
        waiting.remove(level)
        means = []
        if level.minus is not None:
            of, first, second = level.minus
            groups = table.card.level(of).groups
            at, less = groups.index(first), groups.index(second)
            means.append(values[of][:, at] - values[of][:, less])
        elif level.of is None:
            for group in range(len(level.groups)):
                inside = table.members(level.name, group)
                chosen = [n for n, part in enumerate(parts) if inside[part[0]]]
                with np.errstate(invalid="ignore", divide="ignore"):
                    means.append(sums[:, chosen].sum(axis=1) / sizes[:, chosen].sum(axis=1))
        else:
            for finer in children(table, level.name, level.of):
                means.append(mean_of_present(values[level.of][:, finer], axis=1))
        values[level.name] = np.stack(means, axis=1)
    return {name: add_composite(table.card, found) for name, found in values.items()}


def _needs(level: Level) -> set[str]:
    """The levels from whose values a level's are made."""
    return {name for name in (level.of, level.minus and level.minus[0]) if name}


def children(table: ScoreTable, level: str, of: str) -> list[list[int]]:
    """For each group of a level, the groups of the finer level whose samples lie in it."""
    groups = range(len(table.card.level(level).groups))
    found = [np.unique(table.groups[of][table.members(level, group)]) for group in groups]
    return [[int(group) for group in inside if group >= 0] for inside in found]


def shares(card: Card, groups: Mapping[str, Integers], sizes: Floats) -> Floats:
    """How much each stratum counts in the whole, from its number of samples.

    `groups` has each stratum's group in each level, as a table has each sample's. `sizes` and the
    result have the stratum as their last axis.
    """
    return _shares(card, groups, sizes, "overall")[..., 0, :]


def _shares(card: Card, groups: Mapping[str, Integers], sizes: Floats, name: str) -> Floats:
    """The same for each group of a level; axes ..., group, stratum."""
    level = card.level(name)
    strata = np.arange(sizes.shape[-1])
    places = groups.get(name, np.zeros(len(strata), dtype=np.int64))
    inside = places == np.arange(len(level.groups))[:, None]
    if level.of is None:
        parts = sizes[..., None, :] * inside
        part: Floats = parts / np.maximum(parts.sum(axis=-1, keepdims=True), 1.0)
        return part
    finer = _shares(card, groups, sizes, level.of)
    found = np.zeros((*sizes.shape[:-1], len(level.groups), len(strata)))
    for group, members in enumerate(inside):
        below = [int(place) for place in np.unique(groups[level.of][members]) if place >= 0]
        there = (finer[..., below, :] > 0).any(axis=-1).sum(axis=-1)
        found[..., group, :] = finer[..., below, :].sum(axis=-2) / np.maximum(there, 1)[..., None]
    return found


def mean_of_present(values: Floats, axis: int) -> Floats:
    """The mean over an axis of what is there."""
    here = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = np.where(here, values, 0.0).sum(axis=axis) / here.sum(axis=axis)
    return mean
