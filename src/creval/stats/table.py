"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creval.benchmarks import protocol_named
from creval.core.card import OVERALL, Card, Score
from creval.core.errors import CrevalError, known_name

if TYPE_CHECKING:
    from creval.store.run import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ScoreTable:
    """The metrics of each system on each sample.

    `values`, `scored` and `total` have the axes system, sample, metric; a value is NaN where there
    is none. `groups` has, for each level of the card that samples are grouped by, each sample's
    group as its place in the level's order, or -1. `unanswered` and `unasked` count, by system, the
    probes that were asked and not answered, and those that were never asked.
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
    strict: bool = False
    subset: str | None = None

    def of(self, *systems: str) -> ScoreTable:
        """The same for these systems only, in this order."""
        at = [self.systems.index(known_name("model", name, self.systems)) for name in systems]
        return replace(
            self,
            systems=tuple(systems),
            values=self.values[at],
            scored=self.scored[at],
            total=self.total[at],
        )

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> ScoreTable:
        """Two systems for each pair, one behind the other, on the samples that both have."""
        both = self.of(*(name for pair in pairs for name in pair))
        shape = both.values.shape
        values = both.values.reshape(len(pairs), 2, *shape[1:])
        missing = np.isnan(values).any(axis=1, keepdims=True)
        return replace(both, values=np.where(missing, np.nan, values).reshape(shape))

    def members(self, level: str, group: int) -> NDArray[np.bool_]:
        """Which samples lie in a group of a level."""
        if level == OVERALL.name:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def with_composite(self) -> Floats:
        """The values with the composite behind the metrics; none where a part of it has none."""
        return add_composite(self.card, self.values)

    def overall(self) -> ScoreTable:
        """The same without levels below the whole."""
        return replace(self, card=replace(self.card, levels=(OVERALL,)))


def tabulate(
    run: Run,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Mapping[str, float] | None = None,
    systems: tuple[str, ...] | None = None,
) -> ScoreTable:
    """A run's sample scores. Several draws of one system are averaged."""
    protocol = protocol_named(run.manifest["protocol"])
    card = protocol.card if weights is None else protocol.card.weighted(weights)
    chosen = run.systems if systems is None else systems
    for name in chosen:
        known_name("model", name, run.systems)
    if not chosen:
        raise CrevalError(f"{run.folder} holds no edits yet.")
    samples = run.subset(subset)
    metrics = [metric.name for metric in card.metrics]
    totals = {
        identity: [
            score.total for score in _columns(protocol.score(run.probes[identity], {}), metrics)
        ]
        for identity in samples
    }
    # For each system and sample, its draws; a draw has a score for each metric.
    found: dict[str, dict[str, list[list[Score]]]] = {name: {} for name in chosen}
    unanswered = dict.fromkeys(chosen, 0)
    unasked = dict.fromkeys(chosen, sum(len(run.probes[identity]) for identity in samples))
    for key, values in run.values():
        if key.system in found and key.sample in totals:
            unanswered[key.system] += sum(value is None for value in values.values())
            if key.sample not in found[key.system]:
                unasked[key.system] -= len(values)
            scores = protocol.score(run.probes[key.sample], values, strict=strict)
            found[key.system].setdefault(key.sample, []).append(_columns(scores, metrics))
    rows = [
        [_average(found[name].get(identity), totals[identity]) for identity in samples]
        for name in chosen
    ]
    cells = np.array(rows, dtype=np.float64)
    groups = {
        level.name: np.array(
            [
                _place(level.groups, run.samples[identity].tags.get(level.name))
                for identity in samples
            ]
        )
        for level in card.levels
        if level.name != "overall"
    }
    return ScoreTable(
        card=card,
        systems=tuple(chosen),
        samples=samples,
        groups=groups,
        values=cells[..., 0],
        scored=cells[..., 1].astype(np.int64),
        total=cells[..., 2].astype(np.int64),
        unanswered=unanswered,
        unasked=unasked,
        strict=strict,
        subset=subset,
    )


def _columns(scores: Mapping[str, Score], metrics: Sequence[str]) -> list[Score]:
    return [scores[metric] for metric in metrics]


def _average(draws: list[list[Score]] | None, totals: Sequence[int]) -> list[tuple[float, ...]]:
    """For each metric, the mean over the draws that have a value, and the counts of all draws."""
    if draws is None:
        return [(math.nan, 0, total) for total in totals]
    cells: list[tuple[float, ...]] = []
    for scores in zip(*draws, strict=True):
        values = [score.value for score in scores if score.value is not None]
        mean = sum(values) / len(values) if values else math.nan
        cells.append((mean, sum(s.scored for s in scores), sum(s.total for s in scores)))
    return cells


def _place(groups: tuple[str, ...], name: str | None) -> int:
    return groups.index(name) if name in groups else -1


def add_composite(card: Card, values: Floats) -> Floats:
    """Values whose last axis is the card's metrics, with the composite behind them."""
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(card.metrics):
        weight = card.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)
