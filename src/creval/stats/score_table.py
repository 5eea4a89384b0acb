"""Scores of all samples and of their parts, such as steps, as arrays: the input of all statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    """Scores of each model on each sample.

    - `values`, `scored` and `total` have the axes model, sample, metric; a missing value is NaN.
    - `groups` has, for each level that groups samples, the index of each sample's group, or -1 if it
      is in none.
    - `unanswered` and `unasked` count, by model, the questions that got no answer, and those that
      were never asked.
    - `unsupported` counts, by model, the samples that it does not support. They have a value and a `total` of 0.
    - `sub_scores` has the levels that group parts of samples.
    - `clusters` has an index for each sample that is the same for samples of one source image. These samples are not
      independent, so they are resampled together.
    - `missing` is the policy for samples without an edit.
    - `sample_count_before_common`, if set, is the number of samples before the restriction to those that all models
      have a score for.
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
        """Mask of the values of supported samples. Unsupported samples count in the score, but not as evidence."""
        found: NDArray[np.bool_] = ~np.isnan(self.values) & (self.total > 0)
        return found

    def select_models(self, *models: str) -> ScoreTable:
        """Return the table of these models, in this order."""
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
        """Return a table with two consecutive models for each pair, on the samples that both have."""
        return self.select_models(*(name for pair in pairs for name in pair)).keep_shared_values(2)

    def keep_shared_values(self, group_size: int) -> ScoreTable:
        """Keep the values that all models of a group have. Each `group_size` consecutive models form a group."""
        values = self.values.reshape(-1, group_size, *self.values.shape[1:])
        lost = np.repeat(np.isnan(values).any(axis=1), group_size, axis=0)
        return replace(
            self,
            values=np.where(lost, np.nan, self.values),
            scored=np.where(lost, 0, self.scored),
            sub_scores={name: part.keep_shared_values(group_size) for name, part in self.sub_scores.items()},
        )

    def common_samples(self) -> tuple[str, ...]:
        """Return the samples that all models have a supported score of, in the metrics of the ranking column."""
        here = self.supported[..., self.schema.component_indices(self.schema.ranking_column)]
        alike = (here == here[:1]).all(axis=(0, 2)) & here[0].any(axis=1)
        return tuple(name for name, kept in zip(self.samples, alike, strict=True) if kept)

    def group_mask(self, level: str, group: int) -> NDArray[np.bool_]:
        """Return a mask of the samples in a group of a level; all samples if the level does not group samples."""
        if level not in self.groups:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def count_clusters(self, present: NDArray[np.bool_], samples: Integers | None = None) -> Integers:
        """Count the clusters with a present sample. The count replaces the axis of samples (the second-last).

        `samples` has the positions of the samples on this axis. The default is all samples.
        """
        clusters = self.clusters if samples is None else self.clusters[samples]
        order = np.argsort(clusters, kind="stable")
        starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
        found: Integers = np.logical_or.reduceat(present[..., order, :], starts, axis=-2).sum(axis=-2)
        return found

    def distinct_groups(self) -> dict[str, list[str]]:
        """Return the groups of each level, without groups that have the same samples as another group.

        Of groups at several levels with the same samples, only the one at the coarsest level stays.
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
        """Return the values with the composite as the last column; NaN if a component is missing or unsupported."""
        return add_composite(self.schema, np.where(self.total > 0, self.values, np.nan))

    def restrict_to_ranking(self) -> ScoreTable:
        """Return the table without the levels and metrics that do not affect the overall ranking."""
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
    """Append the schema's composite, if any, to values whose last axis is the metrics."""
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
    """Scores of samples' parts, by group; axes model, sample, group, metric.

    `sums` are sums of scores over a sample's parts in a group, and `counts` the numbers of parts with a score. `scored`
    and `total` count probes. Only samples with parts are included: `samples` has their positions in the table.
    """

    samples: Integers
    sums: Floats
    counts: Floats
    scored: Integers
    total: Integers

    def select_models(self, models: Sequence[int]) -> SubScoreTable:
        return replace(self, **{name: getattr(self, name)[models] for name in ("sums", "counts", "scored", "total")})

    def keep_shared_values(self, group_size: int) -> SubScoreTable:
        """Keep the parts that all models of a group have. Each `group_size` consecutive models form a group."""
        counts = self.counts.reshape(-1, group_size, *self.counts.shape[1:])
        # If the counts differ, it is unknown which parts the models share.
        alike = (counts > 0) & np.isclose(counts, counts[:, :1])
        all_ = np.repeat(alike.all(axis=1), group_size, axis=0)
        return replace(
            self,
            sums=np.where(all_, self.sums, 0.0),
            counts=np.where(all_, self.counts, 0.0),
            scored=np.where(all_, self.scored, 0),
        )


class SubScoreBuilder:
    """Builder of the tables of samples' parts, for the levels that group them."""

    def __init__(
        self, schema: ScoreSchema, models: Sequence[str], samples: Sequence[str], metrics: Sequence[str]
    ) -> None:
        self._positions = tuple({name: at for at, name in enumerate(names)} for names in (models, samples, metrics))
        self._groups = {
            level.name: {group: at for at, group in enumerate(level.groups)}
            for level in schema.levels
            if level.groups_sub_scores
        }
        self._shape = (len(models), len(metrics))
        # By level and sample, because few samples may have parts; axes sums to total, model, group, metric.
        self._arrays: dict[str, dict[int, Floats]] = {name: {} for name in self._groups}
        self._draws = np.zeros((len(models), len(samples)))

    def add(self, key: EditKey, sub_scores: Mapping[str, Sequence[SubScore]]) -> None:
        models, samples, metrics = self._positions
        model, sample = models[key.model], samples[key.sample]
        self._draws[model, sample] += 1
        for level, parts in sub_scores.items():
            groups, arrays = self._groups[level], self._arrays[level]
            if parts and sample not in arrays:
                arrays[sample] = np.zeros((4, self._shape[0], len(groups), self._shape[1]))
            for group, metric, score in parts:
                at = (model, groups[group], metrics[metric])
                sums, counts, scored, total = arrays[sample]
                if score.value is not None:
                    sums[at] += score.value
                    counts[at] += 1
                scored[at] += score.scored
                total[at] += score.total

    def build_tables(self) -> dict[str, SubScoreTable]:
        """Return the tables, averaged over each sample's draws."""
        return {name: self._build_table(name, arrays) for name, arrays in self._arrays.items()}

    def _build_table(self, level: str, arrays: Mapping[int, Floats]) -> SubScoreTable:
        samples = np.array(sorted(arrays), dtype=np.int64)
        draws = np.maximum(self._draws[:, samples], 1)[..., None, None]
        models, metrics = self._shape
        together = np.zeros((4, models, len(samples), len(self._groups[level]), metrics))
        for at, sample in enumerate(samples.tolist()):
            together[:, :, at] = arrays[sample]
        sums, counts, scored, total = together
        return SubScoreTable(samples, sums / draws, counts / draws, scored.astype(np.int64), total.astype(np.int64))
