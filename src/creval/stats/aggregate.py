"""Aggregation from samples to groups: means of samples, means of groups, and the composite.

The scores and all bootstrap resamples are computed by the same function: a resample only changes how often each
sample counts in the weighted sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from creval.core.schema import Level, ScoreSchema
from creval.stats.score_table import Floats, Integers, ScoreTable, add_composite


def build_strata(table: ScoreTable) -> list[Integers]:
    """Return strata (arrays of indices of samples), so that every group of the schema is a union of strata."""
    keys = np.stack([*table.groups.values(), np.zeros(len(table.samples), dtype=np.int64)])
    _, part = np.unique(keys, axis=1, return_inverse=True)
    part = part.reshape(-1)
    return [np.flatnonzero(part == number) for number in range(part.max(initial=-1) + 1)]


def aggregate(table: ScoreTable, strata: Sequence[Integers], counts: Floats) -> dict[str, Floats]:
    """Return the values of each level, with samples weighted by `counts` (axes draw, sample).

    The result has, for each level, the axes draw, group, model, column: the metrics and the composite. A group has
    no value (NaN) for a model that supports none of its samples; if it supports any of them,
    its unsupported samples count, too.
    """
    here = ~np.isnan(table.values)
    sums = _stratum_sums(np.where(here, table.values, 0.0), strata, counts)
    sizes = _stratum_sums(here.astype(np.float64), strata, counts)
    values = {
        name: _sub_score_means(counts[:, part.samples], part.sums, part.counts)
        for name, part in table.sub_scores.items()
    }
    drawn = np.stack([counts[:, part].sum(axis=1) for part in strata], axis=1)
    found = _level_values(table, strata, drawn, sums, sizes, values)
    earned = table.supported
    if (here & ~earned).any():
        _clear_unsupported(table, strata, found, _stratum_sums(earned.astype(np.float64), strata, counts))
    return {name: add_composite(table.schema, of) for name, of in found.items()}


def _stratum_sums(source: Floats, strata: Sequence[Integers], counts: Floats) -> Floats:
    """Return sums over the samples of each stratum; axes draw, stratum, model, metric."""
    models, _, metrics = source.shape
    found = []
    for part in strata:
        drawn = np.ascontiguousarray(counts[:, part])
        flat = source[:, part].transpose(1, 0, 2).reshape(len(part), -1)
        found.append((drawn @ flat).reshape(len(drawn), models, metrics))
    return np.stack(found, axis=1)


def _clear_unsupported(
    table: ScoreTable, strata: Sequence[Integers], values: dict[str, Floats], supported: Floats
) -> None:
    """Set values to NaN in groups in which a model supports no sample."""
    for level in table.schema.levels:
        if level.groups_sub_scores or level.difference_of is not None:
            continue
        for group in range(len(level.groups)):
            there = supported[:, _strata_in_group(table, level, group, strata)].any(axis=1)
            values[level.name][:, group][~there] = np.nan


def _strata_in_group(table: ScoreTable, level: Level, group: int, strata: Sequence[Integers]) -> list[int]:
    """Return the indices of the strata in a group."""
    inside = table.group_mask(level.name, group)
    return [n for n, part in enumerate(strata) if inside[part[0]]]


def _sub_score_means(counts: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Return the means of sub-scores, with the axes draw, group, model and metric."""
    models, samples, groups, metrics = sums.shape
    flat = (source.transpose(1, 2, 0, 3).reshape(samples, groups * models * metrics) for source in (sums, sizes))
    return divide(*((counts @ source).reshape(len(counts), groups, models, metrics) for source in flat))


def _level_values(
    table: ScoreTable, strata: Sequence[Integers], drawn: Floats, sums: Floats, sizes: Floats, values: dict[str, Floats]
) -> dict[str, Floats]:
    waiting = [level for level in table.schema.levels if level.name not in values]
    while waiting:
        level = next(level for level in waiting if _required_levels(level) <= values.keys())
        waiting.remove(level)
        if level.difference_of is not None:
            of, first, second = level.difference_of
            groups = table.schema.find_level(of).groups
            at, less = groups.index(first), groups.index(second)
            means = [values[of][:, at] - values[of][:, less]]
        elif level.mean_of is None:
            means = []
            for group in range(len(level.groups)):
                chosen = _strata_in_group(table, level, group, strata)
                means.append(divide(sums[:, chosen].sum(axis=1), sizes[:, chosen].sum(axis=1)))
        else:
            often = _draw_frequency(table, table.schema.find_level(level.mean_of), strata, drawn)
            children = child_groups(table, level.name, level.mean_of)
            means = [_weighted_mean(values[level.mean_of][:, finer], often[:, finer]) for finer in children]
        values[level.name] = np.stack(means, axis=1)
    return values


def _draw_frequency(table: ScoreTable, level: Level, strata: Sequence[Integers], drawn: Floats) -> Floats:
    """Return how often each group was drawn.

    This is 1 unless a bootstrap stratum contains samples of several groups.
    """
    found = np.ones((len(drawn), len(level.groups)))
    for group in range(len(level.groups)):
        inside = _strata_in_group(table, level, group, strata)
        if inside:
            found[:, group] = drawn[:, inside].sum(axis=1) / sum(len(strata[n]) for n in inside)
    return np.round(found, 9)


def _weighted_mean(values: Floats, frequency: Floats) -> Floats:
    """Return the mean of groups with a value, weighted by how often each was drawn; axes draw, group, model, metric."""
    weights = np.where(np.isnan(values), 0.0, frequency[..., None, None])
    return divide((weights * np.nan_to_num(values)).sum(axis=1), weights.sum(axis=1))


def _required_levels(level: Level) -> set[str]:
    """Return the levels that a level is computed from."""
    return {name for name in (level.mean_of, level.difference_of and level.difference_of[0]) if name}


def child_groups(table: ScoreTable, level: str, child_level: str) -> list[list[int]]:
    """Return, for each group of a level, the groups of the child level with samples in it."""
    groups = range(len(table.schema.find_level(level).groups))
    found = [np.unique(table.groups[child_level][table.group_mask(level, group)]) for group in groups]
    return [[int(group) for group in inside if group >= 0] for inside in found]


def stratum_weights(schema: ScoreSchema, groups: Mapping[str, Integers], sizes: Floats) -> Floats:
    """Return the weight of each stratum in the overall mean. Strata are the last axis of `sizes` and the result.

    `groups` has each stratum's group in each level.
    """
    return _group_stratum_weights(schema, groups, sizes, "overall")[..., 0, :]


def _group_stratum_weights(
    schema: ScoreSchema, groups: Mapping[str, Integers], sizes: Floats, level_name: str
) -> Floats:
    """Return the weight of each stratum in each group of a level; axes ..., group, stratum."""
    level = schema.find_level(level_name)
    strata = np.arange(sizes.shape[-1])
    places = groups.get(level_name, np.zeros(len(strata), dtype=np.int64))
    inside = places == np.arange(len(level.groups))[:, None]
    if level.mean_of is None:
        parts = sizes[..., None, :] * inside
        part: Floats = parts / np.maximum(parts.sum(axis=-1, keepdims=True), 1.0)
        return part
    finer = _group_stratum_weights(schema, groups, sizes, level.mean_of)
    found = np.zeros((*sizes.shape[:-1], len(level.groups), len(strata)))
    for group, members in enumerate(inside):
        below = [int(place) for place in np.unique(groups[level.mean_of][members]) if place >= 0]
        there = (finer[..., below, :] > 0).any(axis=-1).sum(axis=-1)
        found[..., group, :] = finer[..., below, :].sum(axis=-2) / np.maximum(there, 1)[..., None]
    return found


def nan_mean(values: Floats, axis: int) -> Floats:
    """Return the mean over an axis, ignoring NaN. NaN if there are no values."""
    here = ~np.isnan(values)
    return divide(np.where(here, values, 0.0).sum(axis=axis), here.sum(axis=axis))


def divide(numerator: Floats, denominator: Floats | Integers) -> Floats:
    """Divide without a warning: NaN or infinity if the denominator is zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Floats = numerator / denominator
    return quotient
