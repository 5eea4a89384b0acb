"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import require_known
from creval.core.schema import Level, ScoreSchema
from creval.stats.missing import EXCLUDE
from creval.stats.subscores import Floats as Floats
from creval.stats.subscores import Integers as Integers
from creval.stats.subscores import SubScoreTable


@dataclass(frozen=True)
class ScoreTable:
    """The metrics of each system on each sample.

    `values`, `scored` and `total` have the axes system, sample, metric; a value is NaN where there is none. `groups`
    has, for each level of the card that samples are grouped by, each sample's group as its place in the level's
    order, or -1. `unanswered` and `unasked` count, by system, the probes that were asked and not answered, and those
    that were never asked; `unsupported` the samples that a system cannot do, where they count: with a value, and with
    nothing to be scored. `sub_scores` has the levels whose groups are of parts of samples. `clusters` has for each
    sample the number of what it was made from: samples of one picture are drawn together, because they are not
    independent. `missing` says what became of samples that a system has no edit of; `sample_count_before_common`, if
    set, that the samples are those of so many that all systems have a score of.
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
        """Where a system has a value of what it supports; what it does not only counts."""
        found: NDArray[np.bool_] = ~np.isnan(self.values) & (self.total > 0)
        return found

    def select_models(self, *models: str) -> ScoreTable:
        """The same for these systems only, in this order."""
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
        """Two systems for each pair, one behind the other, on the samples that both have."""
        return self.select_models(*(name for pair in pairs for name in pair)).keep_shared_values(2)

    def keep_shared_values(self, group_size: int) -> ScoreTable:
        """Of so many systems one behind the other, again and again: only values that all of them have."""
        values = self.values.reshape(-1, group_size, *self.values.shape[1:])
        lost = np.repeat(np.isnan(values).any(axis=1), group_size, axis=0)
        return replace(
            self,
            values=np.where(lost, np.nan, self.values),
            scored=np.where(lost, 0, self.scored),
            sub_scores={name: part.keep_shared_values(group_size) for name, part in self.sub_scores.items()},
        )

    def common_samples(self) -> tuple[str, ...]:
        """The samples that all systems have a score of, as far as anything is scored by which they
        are ranked. What one does not support it does not have, whatever it counts."""
        names = self.schema.component_weights(self.schema.ranking_column)
        at = [n for n, metric in enumerate(self.schema.metrics) if metric.name in names]
        here = self.supported[..., at]
        alike = (here == here[:1]).all(axis=(0, 2)) & here[0].any(axis=1)
        return tuple(name for name, kept in zip(self.samples, alike, strict=True) if kept)

    def group_mask(self, level: str, group: int) -> NDArray[np.bool_]:
        """Which samples lie in a group of a level; in one that has no tag, all can."""
        if level not in self.groups:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def count_clusters(self, present: NDArray[np.bool_]) -> Integers:
        """Of how many units a sample is here: what makes an interval sure are they, and not their
        samples. The last axes but one are samples, and fall away."""
        order = np.argsort(self.clusters, kind="stable")
        starts = np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
        found: Integers = np.logical_or.reduceat(present[..., order, :], starts, axis=-2).sum(axis=-2)
        return found

    def distinct_groups(self) -> dict[str, list[str]]:
        """The groups of each level. Of those that are made of a finer level's, each set of samples
        stands once, and one that is a single finer group only at the coarsest level."""
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
        """The values with the composite behind the metrics; none where a part of it has none, or
        where nothing could be scored."""
        return add_composite(self.schema, np.where(self.total > 0, self.values, np.nan))

    def restrict_to_ranking(self) -> ScoreTable:
        """The same without what the whole's ranking does not rest on: other levels and metrics."""
        card, levels = self.schema, list[Level]()
        name: str | None = "overall"
        while name is not None:
            levels.append(card.find_level(name))
            name = levels[-1].mean_of
        names = card.component_weights(card.ranking_column)
        at = [n for n, metric in enumerate(card.metrics) if metric.name in names]
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
    """Values whose last axis is the card's metrics, with the composite behind them, if any."""
    if schema.composite is None:
        return values
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(schema.metrics):
        weight = schema.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)
