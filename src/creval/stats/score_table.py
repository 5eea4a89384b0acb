"""The scores of every sample and of its parts, such as steps, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.edit_record import EditKey
from creval.core.errors import require_known
from creval.core.schema import Level, ScoreSchema, SubScore
from creval.stats.missing import EXCLUDE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ScoreTable:
    """The metrics of each model on each sample.

    `values`, `scored` and `total` have the axes model, sample, metric; a value is NaN where there is none. `groups`
    has, for each level of the schema that samples are grouped by, each sample's group as its place in the level's
    order, or -1. `unanswered` and `unasked` count, by model, the probes that were asked and not answered, and those
    that were never asked; `unsupported` the samples that a model cannot do, where they count: with a value, and with
    nothing to be scored. `sub_scores` has the levels whose groups are of parts of samples. `clusters` has for each
    sample the number of what it was made from: samples of one image are drawn together, because they are not
    independent. `missing` says what became of samples that a model has no edit of; `sample_count_before_common`, if
    set, that the samples are those of so many that all models have a score of.
    """

    schema: ScoreSchema
    models: tuple[str, ...]
    samples: tuple[str, ...]
    groups: Mapping[str, Integers]
    values: Floats
    scored: Integers
    total: Integers
    unanswered: Mapping[str, int]
    unasked: Mapping[str, int]
    clusters: Integers
    sub_scores: Mapping[str, SubScoreTable] = field(default_factory=dict)
    unsupported: Mapping[str, int] = field(default_factory=dict)
    strict: bool = False
    subset: str | None = None
    missing: str = EXCLUDE
    sample_count_before_common: int | None = None

    @property
    def supported(self) -> NDArray[np.bool_]:
        """Where a model has a value of what it supports; what it does not only counts."""
        found: NDArray[np.bool_] = ~np.isnan(self.values) & (self.total > 0)
        return found

    def select_models(self, *models: str) -> ScoreTable:
        """Return the same for these models only, in this order."""
        at = [self.models.index(require_known("model", name, self.models)) for name in models]
        return replace(
            self,
            models=tuple(models),
            values=self.values[at],
            scored=self.scored[at],
            total=self.total[at],
            sub_scores={name: part.select_models(at) for name, part in self.sub_scores.items()},
        )

    def select_pairs(self, pairs: Sequence[tuple[str, str]]) -> ScoreTable:
        """Two models for each pair, one behind the other, on the samples that both have."""
        return self.select_models(*(name for pair in pairs for name in pair)).keep_shared_values(2)

    def keep_shared_values(self, group_size: int) -> ScoreTable:
        """Of so many models one behind the other, again and again: only values that all of them have."""
        values = self.values.reshape(-1, group_size, *self.values.shape[1:])
        lost = np.repeat(np.isnan(values).any(axis=1), group_size, axis=0)
        return replace(
            self,
            values=np.where(lost, np.nan, self.values),
            scored=np.where(lost, 0, self.scored),
            sub_scores={name: part.keep_shared_values(group_size) for name, part in self.sub_scores.items()},
        )

    def common_samples(self) -> tuple[str, ...]:
        """Return the samples that all models have a supported score of, in the metrics by which they are ranked."""
        here = self.supported[..., self.schema.component_indices(self.schema.ranking_column)]
        alike = (here == here[:1]).all(axis=(0, 2)) & here[0].any(axis=1)
        return tuple(name for name, kept in zip(self.samples, alike, strict=True) if kept)

    def group_mask(self, level: str, group: int) -> NDArray[np.bool_]:
        """Return which samples lie in a group of a level; in one that has no tag, all can."""
        if level not in self.groups:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def count_clusters(self, present: NDArray[np.bool_]) -> Integers:
        """Count the clusters that have a sample here, in place of the axis of samples, the last but one."""
        order = np.argsort(self.clusters, kind="stable")
        starts = np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
        found: Integers = np.logical_or.reduceat(present[..., order, :], starts, axis=-2).sum(axis=-2)
        return found

    def distinct_groups(self) -> dict[str, list[str]]:
        """Return the groups of each level, without those that hold the same samples as another.

        A group that is a single finer group stays only at the coarsest level.
        """
        coarsest = next((level.name for level in self.schema.levels if level.groups_samples), "")
        found: dict[str, list[str]] = {}
        seen: set[bytes] = set()
        for level in self.schema.levels:
            found[level.name] = list(level.groups)
            if not level.groups_samples or level.mean_of is None:
                continue
            for at, group in enumerate(level.groups):
                members = self.group_mask(level.name, at)
                finer = np.unique(self.groups[level.mean_of][members]).size
                if members.tobytes() in seen or (finer < 2 and level.name != coarsest):
                    found[level.name].remove(group)
                seen.add(members.tobytes())
        return found

    def with_composite(self) -> Floats:
        """Return the values and the composite behind them; NaN where a part lacks or nothing could be scored."""
        return add_composite(self.schema, np.where(self.total > 0, self.values, np.nan))

    def restrict_to_ranking(self) -> ScoreTable:
        """Return the same without what the whole's ranking does not rest on: other levels and metrics."""
        card, levels = self.schema, list[Level]()
        name: str | None = "overall"
        while name is not None:
            levels.append(card.find_level(name))
            name = levels[-1].mean_of
        at = card.component_indices(card.ranking_column)
        metrics = tuple(card.metrics[n] for n in at)
        return replace(
            self,
            schema=replace(card, levels=tuple(levels), metrics=metrics),
            values=self.values[..., at],
            scored=self.scored[..., at],
            total=self.total[..., at],
            sub_scores={},
        )


def add_composite(schema: ScoreSchema, values: Floats) -> Floats:
    """Values whose last axis is the schema's metrics, with the composite behind them, if any."""
    if schema.composite is None:
        return values
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(schema.metrics):
        weight = schema.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)


@dataclass(frozen=True)
class SubScoreTable:
    """Sums, sizes and probe counts of samples' parts, by group; axes model, sample, group, metric."""

    sums: Floats
    counts: Floats
    scored: Integers
    total: Integers

    def select_models(self, models: Sequence[int]) -> SubScoreTable:
        return SubScoreTable(*(getattr(self, f.name)[models] for f in fields(self)))

    def keep_shared_values(self, group_size: int) -> SubScoreTable:
        """Of so many models one behind the other, again and again: only what all of them have."""
        counts = self.counts.reshape(-1, group_size, *self.counts.shape[1:])
        # Where one has more of a sample's parts than another, which they are cannot be told.
        alike = (counts > 0) & np.isclose(counts, counts[:, :1])
        all_ = np.repeat(alike.all(axis=1), group_size, axis=0)
        return replace(
            self,
            sums=np.where(all_, self.sums, 0.0),
            counts=np.where(all_, self.counts, 0.0),
            scored=np.where(all_, self.scored, 0),
        )


class SubScoreBuilder:
    """Collects the scores of samples' parts, for the levels that group them."""

    def __init__(
        self, schema: ScoreSchema, models: Sequence[str], samples: Sequence[str], metrics: Sequence[str]
    ) -> None:
        self._positions = tuple({name: at for at, name in enumerate(names)} for names in (models, samples, metrics))
        self._groups = {
            level.name: {group: at for at, group in enumerate(level.groups)}
            for level in schema.levels
            if level.groups_sub_scores
        }
        shape = (len(models), len(samples))
        self._arrays = {name: np.zeros((4, *shape, len(groups), len(metrics))) for name, groups in self._groups.items()}
        self._draws = np.zeros(shape)

    def add(self, key: EditKey, sub_scores: Mapping[str, Sequence[SubScore]]) -> None:
        models, samples, metrics = self._positions
        place = (models[key.model], samples[key.sample])
        self._draws[place] += 1
        for level, parts in sub_scores.items():
            groups, (sums, counts, scored, total) = self._groups[level], self._arrays[level]
            for group, metric, score in parts:
                at = (*place, groups[group], metrics[metric])
                if score.value is not None:
                    sums[at] += score.value
                    counts[at] += 1
                scored[at] += score.scored
                total[at] += score.total

    def build_tables(self) -> dict[str, SubScoreTable]:
        """Return the mean over a sample's draws of what was collected."""
        draws = np.maximum(self._draws, 1)[..., None, None]
        return {
            name: SubScoreTable(sums / draws, counts / draws, scored.astype(np.int64), total.astype(np.int64))
            for name, (sums, counts, scored, total) in self._arrays.items()
        }
