"""The scores of samples' parts, such as steps, by the groups that the parts are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.edit_record import EditKey
from creval.core.schema import ScoreSchema, SubScore

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SubScoreTable:
    """The metrics of samples' parts, by group: their sums, how many there are, and their probes.

    All have the axes system, sample, group, metric.
    """

    sums: Floats
    counts: Floats
    scored: Integers
    total: Integers

    def select_models(self, models: Sequence[int]) -> SubScoreTable:
        return SubScoreTable(*(getattr(self, f.name)[models] for f in fields(self)))

    def keep_shared_values(self, group_size: int) -> SubScoreTable:
        """Of so many systems one behind the other, again and again: only what all of them have."""
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
        """The mean over a sample's draws of what was collected."""
        draws = np.maximum(self._draws, 1)[..., None, None]
        return {
            name: SubScoreTable(sums / draws, counts / draws, scored.astype(np.int64), total.astype(np.int64))
            for name, (sums, counts, scored, total) in self._arrays.items()
        }
