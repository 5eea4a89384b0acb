"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creval.benchmarks import protocol_named
from creval.core.card import OVERALL, Card, Level, Score
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects

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
    found: dict[str, dict[str, list[Mapping[str, Score]]]] = {name: {} for name in chosen}
    unanswered = dict.fromkeys(chosen, 0)
    unasked = dict.fromkeys(chosen, sum(len(run.probes[identity]) for identity in samples))
    wanted = frozenset(samples)
    with many_small_objects():
        for key, values in run.values():
            if key.system in found and key.sample in wanted:
                unanswered[key.system] += list(values.values()).count(None)
                draws = found[key.system].setdefault(key.sample, [])
                unasked[key.system] -= 0 if draws else len(values)
                draws.append(protocol.score(run.probes[key.sample], values, strict=strict))
    metrics = [metric.name for metric in card.metrics]
    rows = [
        [
            _average(scores.get(identity) or [protocol.score(run.probes[identity], {})], metrics)
            for identity in samples
        ]
        for scores in found.values()
    ]
    cells = np.array(rows, dtype=np.float64)
    groups = {
        level.name: _places(level, [run.samples[identity].tags for identity in samples])
        for level in card.levels
        if level.name != OVERALL.name
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


def _places(level: Level, tags: Sequence[Mapping[str, str]]) -> Integers:
    """Each sample's group in a level, as its place in the level's order, or -1."""
    place = {group: at for at, group in enumerate(level.groups)}
    return np.array([place.get(tag.get(level.name, ""), -1) for tag in tags], dtype=np.int64)


def _average(draws: Sequence[Mapping[str, Score]], metrics: Sequence[str]) -> list[Score]:
    """For each metric, the mean over the draws that have a value, and the counts of all draws."""
    if len(draws) == 1:
        return [draws[0][metric] for metric in metrics]
    means = []
    for metric in metrics:
        scores = [draw[metric] for draw in draws]
        values = [score.value for score in scores if score.value is not None]
        mean = sum(values) / len(values) if values else None
        means.append(Score(mean, sum(s.scored for s in scores), sum(s.total for s in scores)))
    return means


def add_composite(card: Card, values: Floats) -> Floats:
    """Values whose last axis is the card's metrics, with the composite behind them."""
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(card.metrics):
        weight = card.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)
