"""Bootstrap over samples: within each stratum, with the same resamples for every model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from creval.stats.aggregate import aggregate, build_strata
from creval.stats.score_table import Floats, Integers, ScoreTable

_BATCH_SIZE = 1000  # resamples in memory at a time


def resample_counts(strata: Sequence[Integers], resamples: int, seed: int) -> Iterator[Floats]:
    """Yield the weight of each sample in resamples, in batches; axes draw, sample.

    From a stratum of n samples, n - 1 are drawn with replacement and weighted by n / (n - 1). This makes the variance
    of a mean unbiased (Rao and Wu, 1988).
    """
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, _BATCH_SIZE):
        draws = min(_BATCH_SIZE, resamples - start)
        counts = np.empty((draws, sum(map(len, strata))))
        for stratum in strata:
            counts[:, stratum] = _draw_counts(generator, len(stratum), draws)
        yield counts


def _draw_counts(generator: np.random.Generator, size: int, draws: int) -> Floats:
    drawn = max(size - 1, 1)
    places = generator.integers(0, size, (draws, drawn)) + size * np.arange(draws)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws * size).reshape(draws, size)
    return counts.astype(np.float64) * np.float64(size / drawn)


def pool_small_strata(strata: Sequence[Integers], parents: Sequence[object] = ()) -> list[Integers]:
    """Merge strata of one sample, because their resamples never vary: first within each parent, then the rest."""
    by_owner: dict[object, list[Integers]] = {}
    for part, owner in zip(strata, parents or [None] * len(strata), strict=True):
        by_owner.setdefault(owner, []).append(part)
    return _merge_singletons([part for own in by_owner.values() for part in _merge_singletons(own)])


def _merge_singletons(strata: Sequence[Integers]) -> list[Integers]:
    single = [part for part in strata if len(part) == 1]
    several = [part for part in strata if len(part) > 1]
    if len(single) == 1 and several:
        smallest = min(range(len(several)), key=lambda n: len(several[n]))
        several[smallest] = np.concatenate([several[smallest], single[0]])
    elif single:
        several.append(np.concatenate(single))
    return several


def cluster_strata(strata: Sequence[Integers], clusters: Integers) -> list[Integers]:
    """Return strata of clusters. Clusters are in one stratum if their samples lie in the same strata of samples."""
    part_of = np.empty(len(clusters), dtype=np.int64)
    for number, part in enumerate(strata):
        part_of[part] = number
    if len(np.unique(clusters)) == len(clusters):
        return [clusters[part] for part in strata]
    seen: dict[int, list[int]] = {}
    for unit, number in zip(clusters.tolist(), part_of.tolist(), strict=True):
        seen.setdefault(unit, []).append(number)
    alike: dict[tuple[int, ...], list[int]] = {}
    for unit, inside in seen.items():
        alike.setdefault(tuple(sorted(inside)), []).append(unit)
    return [np.array(members, dtype=np.int64) for members in alike.values()]


def bootstrap_tables(tables: Sequence[ScoreTable], resamples: int, seed: int) -> list[dict[str, Floats]]:
    """Aggregate tables of the same samples over the same resamples, by level; axes draw, group, model, column."""
    parts, units = build_strata(tables[0]), tables[0].clusters
    chunks: list[list[dict[str, Floats]]] = [[] for _ in tables]
    apart = cluster_strata(parts, units)
    for drawn in resample_counts(pool_small_strata(apart, _parent_groups(tables[0], apart)), resamples, seed):
        counts = drawn[:, units]
        for table, into in zip(tables, chunks, strict=True):
            into.append(aggregate(table, parts, counts))
    return [{name: np.concatenate([c[name] for c in of]) for name in of[0]} for of in chunks]


def _parent_groups(table: ScoreTable, strata: Sequence[Integers]) -> list[tuple[tuple[int, ...], ...]]:
    """Return, for each stratum of clusters, the groups of its samples in levels over which another level averages."""
    of = {level.mean_of for level in table.schema.levels if level.mean_of in table.groups}
    groups = [table.groups[name].tolist() for name in sorted(filter(None, of))]
    inside: dict[int, list[tuple[int, ...]]] = {}
    for sample, unit in enumerate(table.clusters.tolist()):
        inside.setdefault(unit, []).append(tuple(places[sample] for places in groups))
    return [tuple(sorted(inside[int(stratum[0])])) for stratum in strata]


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval over the first axis; NaN if most draws have no value."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    missing = np.isnan(draws)
    empty = missing.mean(axis=0) > 0.5
    if missing.any():
        low, high = np.nanquantile(np.where(empty, 0.0, draws), ends, axis=0)
    else:
        low, high = np.quantile(draws, ends, axis=0)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)
