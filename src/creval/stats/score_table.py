"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import known_name
from creval.core.schema import Card, Level
from creval.stats.missing import EXCLUDE
from creval.stats.subscores import Floats as Floats
from creval.stats.subscores import Integers as Integers
from creval.stats.subscores import PartTable


@dataclass(frozen=True)
class ScoreTable:
    """The metrics of each system on each sample.

    `values`, `scored` and `total` have the axes system, sample, metric; a value is NaN where there
    is none. `groups` has, for each level of the card that samples are grouped by, each sample's
    group as its place in the level's order, or -1. `unanswered` and `unasked` count, by system, the
    probes that were asked and not answered, and those that were never asked; `unsupported` the
    samples that a system cannot do, where they count: with a value, and with nothing to be scored.
    `parts` has the levels whose groups are of parts of samples. `units` has for each sample the
    number of what it was made from: samples of one picture are drawn together, because they are not
    independent. `missing` says what became of samples that a system has no edit of; `common_of`, if
    set, that the samples are those of so many that all systems have a score of.
    """

    card: Card
    systems: tuple[str, ...]
    samples: tuple[str, ...]
    groups: Mapping[str, Integers]
    values: Floats
    scored: Integers
    total: Integers
    unanswered: Mapping[str, int]
    unasked: Mapping[str, int]
    units: Integers
    parts: Mapping[str, PartTable] = field(default_factory=dict)
    unsupported: Mapping[str, int] = field(default_factory=dict)
    strict: bool = False
    subset: str | None = None
    missing: str = EXCLUDE
    common_of: int | None = None

    @property
    def earned(self) -> NDArray[np.bool_]:
        """Where a system has a value of what it supports; what it does not only counts."""
        found: NDArray[np.bool_] = ~np.isnan(self.values) & (self.total > 0)
        return found

    def of(self, *systems: str) -> ScoreTable:
        """The same for these systems only, in this order."""
        at = [self.systems.index(known_name("model", name, self.systems)) for name in systems]
        return replace(
            self,
            systems=tuple(systems),
            values=self.values[at],
            scored=self.scored[at],
            total=self.total[at],
            parts={name: part.of(at) for name, part in self.parts.items()},
        )

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> ScoreTable:
        """Two systems for each pair, one behind the other, on the samples that both have."""
        return self.of(*(name for pair in pairs for name in pair)).shared(2)

    def shared(self, size: int) -> ScoreTable:
        """Of so many systems one behind the other, again and again: only values that all of them
        have."""
        values = self.values.reshape(-1, size, *self.values.shape[1:])
        lost = np.repeat(np.isnan(values).any(axis=1), size, axis=0)
        return replace(
            self,
            values=np.where(lost, np.nan, self.values),
            scored=np.where(lost, 0, self.scored),
            parts={name: part.shared(size) for name, part in self.parts.items()},
        )

    def common(self) -> tuple[str, ...]:
        """The samples that all systems have a score of, as far as anything is scored by which they
        are ranked. What one does not support it does not have, whatever it counts."""
        names = self.card.rests_on(self.card.ranking)
        at = [n for n, metric in enumerate(self.card.metrics) if metric.name in names]
        here = self.earned[..., at]
        alike = (here == here[:1]).all(axis=(0, 2)) & here[0].any(axis=1)
        return tuple(name for name, kept in zip(self.samples, alike, strict=True) if kept)

    def members(self, level: str, group: int) -> NDArray[np.bool_]:
        """Which samples lie in a group of a level; in one that has no tag, all can."""
        if level not in self.groups:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def units_in(self, here: NDArray[np.bool_]) -> Integers:
        """Of how many units a sample is here: what makes an interval sure are they, and not their
        samples. The last axes but one are samples, and fall away."""
        order = np.argsort(self.units, kind="stable")
        starts = np.flatnonzero(np.diff(self.units[order], prepend=-1))
        found: Integers = np.logical_or.reduceat(here[..., order, :], starts, axis=-2).sum(axis=-2)
        return found

    def distinct(self) -> dict[str, list[str]]:
        """The groups of each level. Of those that are made of a finer level's, each set of samples
        stands once, and one that is a single finer group only at the coarsest level."""
        coarsest = next((level.name for level in self.card.levels if level.tagged), "")
        found: dict[str, list[str]] = {}
        seen: set[bytes] = set()
        for level in self.card.levels:
            found[level.name] = list(level.groups)
            if not level.tagged or level.of is None:
                continue
            for at, group in enumerate(level.groups):
                members = self.members(level.name, at)
                finer = np.unique(self.groups[level.of][members]).size
                if members.tobytes() in seen or (finer < 2 and level.name != coarsest):
                    found[level.name].remove(group)
                seen.add(members.tobytes())
        return found

    def with_composite(self) -> Floats:
        """The values with the composite behind the metrics; none where a part of it has none, or
        where nothing could be scored."""
        return add_composite(self.card, np.where(self.total > 0, self.values, np.nan))

    def ranked(self) -> ScoreTable:
        """The same without what the whole's ranking does not rest on: other levels and metrics."""
        card, levels = self.card, list[Level]()
        name: str | None = "overall"
        while name is not None:
            levels.append(card.level(name))
            name = levels[-1].of
        names = card.rests_on(card.ranking)
        at = [n for n, metric in enumerate(card.metrics) if metric.name in names]
        metrics = tuple(card.metrics[n] for n in at)
        return replace(
            self,
            card=replace(card, levels=tuple(levels), metrics=metrics),
            values=self.values[..., at],
            scored=self.scored[..., at],
            total=self.total[..., at],
            parts={},
        )


def add_composite(card: Card, values: Floats) -> Floats:
    """Values whose last axis is the card's metrics, with the composite behind them, if any."""
    if card.composite is None:
        return values
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(card.metrics):
        weight = card.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)
