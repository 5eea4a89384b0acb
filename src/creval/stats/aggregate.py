"""From samples to groups: means of samples, means of groups, and the composite.

Everything here is linear in the samples' values, so one function serves the scores themselves and
every resample of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from creval.core.schema import Card, Level
from creval.stats.score_table import Floats, Integers, ScoreTable, add_composite


def strata(table: ScoreTable) -> list[Integers]:
    """The samples' places, split so finely that every group of the card is a union of parts."""
    keys = np.stack([*table.groups.values(), np.zeros(len(table.samples), dtype=np.int64)])
    _, part = np.unique(keys, axis=1, return_inverse=True)
    part = part.reshape(-1)
    return [np.flatnonzero(part == number) for number in range(part.max(initial=-1) + 1)]


def aggregate(table: ScoreTable, parts: Sequence[Integers], counts: Floats) -> dict[str, Floats]:
    """Each level's values when each sample counts as often as `counts` says.

    `counts` has the axes draw, sample. The result has, for each level, the axes draw, group,
    system, column: the metrics and the composite. NaN is no value: what a system does not support
    counts beside what it does, but alone makes none.
    """
    here = ~np.isnan(table.values)
    sums = _sums(np.where(here, table.values, 0.0), parts, counts)
    sizes = _sums(here.astype(np.float64), parts, counts)
    values = {name: _mean(counts, part.sums, part.counts) for name, part in table.parts.items()}
    drawn = np.stack([counts[:, part].sum(axis=1) for part in parts], axis=1)
    found = _levels(table, parts, drawn, sums, sizes, values)
    earned = table.earned
    if (here & ~earned).any():
        _clear(table, parts, found, _sums(earned.astype(np.float64), parts, counts))
    return {name: add_composite(table.card, of) for name, of in found.items()}


def _sums(source: Floats, parts: Sequence[Integers], counts: Floats) -> Floats:
    """Each part's sums over its samples; axes draw, part, system, metric."""
    systems, _, metrics = source.shape
    found = []
    for part in parts:
        drawn = np.ascontiguousarray(counts[:, part])
        flat = source[:, part].transpose(1, 0, 2).reshape(len(part), -1)
        found.append((drawn @ flat).reshape(len(drawn), systems, metrics))
    return np.stack(found, axis=1)


def _clear(
    table: ScoreTable, parts: Sequence[Integers], values: dict[str, Floats], earned: Floats
) -> None:
    """Take away the values of groups in which a system has only what it does not support."""
    for level in table.card.levels:
        if level.parts or level.minus is not None:
            continue
        for group in range(len(level.groups)):
            there = earned[:, _inside(table, level, group, parts)].any(axis=1)
            values[level.name][:, group][~there] = np.nan


def _inside(table: ScoreTable, level: Level, group: int, parts: Sequence[Integers]) -> list[int]:
    """The parts of which a group is made."""
    inside = table.members(level.name, group)
    return [n for n, part in enumerate(parts) if inside[part[0]]]


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
    drawn: Floats,
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
                chosen = _inside(table, level, group, parts)
                with np.errstate(invalid="ignore", divide="ignore"):
                    means.append(sums[:, chosen].sum(axis=1) / sizes[:, chosen].sum(axis=1))
        else:
            often = _often(table, table.card.level(level.of), parts, drawn)
            for finer in children(table, level.name, level.of):
                means.append(_weighted(values[level.of][:, finer], often[:, finer]))
        values[level.name] = np.stack(means, axis=1)
    return values


def _often(table: ScoreTable, level: Level, parts: Sequence[Integers], drawn: Floats) -> Floats:
    """How often each group was drawn: once, unless its samples are drawn with those of others."""
    found = np.ones((len(drawn), len(level.groups)))
    for group in range(len(level.groups)):
        inside = _inside(table, level, group, parts)
        if inside:
            found[:, group] = drawn[:, inside].sum(axis=1) / sum(len(parts[n]) for n in inside)
    return np.round(found, 9)


def _weighted(values: Floats, often: Floats) -> Floats:
    """The mean of the groups that are there, each as often as it was drawn; axes draw, group,
    system, metric."""
    weights = np.where(np.isnan(values), 0.0, often[..., None, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = (weights * np.nan_to_num(values)).sum(axis=1) / weights.sum(axis=1)
    return mean


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
