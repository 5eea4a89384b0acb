"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creval.benchmarks import protocol_named
from creval.core.card import Card, Level, Part, Score, Weights
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects
from creval.core.probe import EditKey
from creval.core.sample import Sample

if TYPE_CHECKING:
    from creval.store.run import Run

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PartTable:
    """The metrics of samples' parts, by group: their sums, how many there are, and their probes.

    All have the axes system, sample, group, metric.
    """

    sums: Floats
    counts: Floats
    scored: Integers
    total: Integers

    def of(self, systems: Sequence[int]) -> PartTable:
        return PartTable(*(getattr(self, f.name)[systems] for f in fields(self)))

    def paired(self) -> PartTable:
        """Two systems one behind the other: only what both have."""
        one, two = self.counts[::2], self.counts[1::2]
        # Where one has more of a sample's parts than the other, which they are cannot be told.
        both = np.repeat((one > 0) & np.isclose(one, two), 2, axis=0)
        return replace(
            self, sums=np.where(both, self.sums, 0.0), counts=np.where(both, self.counts, 0.0)
        )


@dataclass(frozen=True)
class ScoreTable:
    """The metrics of each system on each sample.

    `values`, `scored` and `total` have the axes system, sample, metric; a value is NaN where there
    is none. `groups` has, for each level of the card that samples are grouped by, each sample's
    group as its place in the level's order, or -1. `unanswered` and `unasked` count, by system, the
    probes that were asked and not answered, and those that were never asked; `unsupported` the
    samples that a system cannot do, where they count: with a value, and with nothing to be scored.
    `parts` has the levels
    whose groups are of parts of samples. `units` has for each sample the number of what it was made
    from: samples of one picture are drawn together, because they are not independent.
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
        both = self.of(*(name for pair in pairs for name in pair))
        shape = both.values.shape
        values = both.values.reshape(len(pairs), 2, *shape[1:])
        missing = np.isnan(values).any(axis=1, keepdims=True)
        return replace(
            both,
            values=np.where(missing, np.nan, values).reshape(shape),
            parts={name: part.paired() for name, part in both.parts.items()},
        )

    def members(self, level: str, group: int) -> NDArray[np.bool_]:
        """Which samples lie in a group of a level; in one that has no tag, all can."""
        if level not in self.groups:
            return np.ones(len(self.samples), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.groups[level] == group
        return inside

    def with_composite(self) -> Floats:
        """The values with the composite behind the metrics; none where a part of it has none, or
        where nothing could be scored."""
        return add_composite(self.card, np.where(self.total > 0, self.values, np.nan))

    def overall(self) -> ScoreTable:
        """The same without levels that the whole does not rest on."""
        levels: list[Level] = []
        name: str | None = "overall"
        while name is not None:
            levels.append(self.card.level(name))
            name = levels[-1].of
        return replace(self, card=replace(self.card, levels=tuple(levels)), parts={})


def tabulate(
    run: Run,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    systems: tuple[str, ...] | None = None,
    averaged: bool = False,
) -> ScoreTable:
    """A run's sample scores. Several draws of one system are averaged; so are several answers to
    one question, if that is wanted, where else the majority counts."""
    protocol = protocol_named(run.manifest["protocol"])
    if strict and not protocol.has_strict:
        raise CrevalError(f"--strict: {protocol.name} is scored in one way only.")
    protocol = protocol if weights is None else protocol.weighted(weights)
    card = protocol.card.over(run.levels)
    chosen = run.systems if systems is None else systems
    for name in chosen:
        known_name("model", name, run.systems)
    if not chosen:
        raise CrevalError(f"{run.folder} holds no edits yet.")
    samples = run.subset(subset)
    found: dict[str, dict[str, list[Mapping[str, Score]]]] = {name: {} for name in chosen}
    unanswered = dict.fromkeys(chosen, 0)
    measured = run.measurements
    questions = sum(len(run.probes[identity]) for identity in samples)
    if measured:
        questions -= sum(p.id in measured for identity in samples for p in run.probes[identity])
    unasked = dict.fromkeys(chosen, questions)
    known: dict[tuple[str, str], int] = {}
    wanted = frozenset(samples)
    metrics = [metric.name for metric in card.metrics]
    parts = _Parts(card, chosen, samples, metrics)
    places = any(level.parts for level in card.levels)

    declared = frozenset() if card.unsupported is None else run.unsupported
    unsupported = {
        name: [identity for identity in samples if (name, identity) in declared] for name in chosen
    }
    for name, identities in unsupported.items():
        asked_of = (probe.id for identity in identities for probe in run.probes[identity])
        unasked[name] -= sum(probe not in measured for probe in asked_of)

    def unscored(system: str, identity: str) -> Mapping[str, Score]:
        found = protocol.score(run.samples[identity], run.probes[identity], {})
        if (system, identity) not in declared:
            return found
        return {
            metric: Score(card.unsupported if score.total else None, 0, 0)
            for metric, score in found.items()
        }

    with many_small_objects():
        for key, values in run.values(averaged=averaged):
            if key.system in found and key.sample in wanted:
                asked = values
                if measured:
                    asked = {name: v for name, v in values.items() if name not in measured}
                unanswered[key.system] += list(asked.values()).count(None)
                draws = found[key.system].setdefault(key.sample, [])
                more = len(asked) - known.get((key.system, key.sample), 0)
                if more > 0:
                    unasked[key.system] -= more
                    known[key.system, key.sample] = len(asked)
                sample, probes = run.samples[key.sample], run.probes[key.sample]
                draws.append(protocol.score(sample, probes, values, strict=strict))
                if places:
                    parts.add(key, protocol.parts(sample, probes, values))
    rows = [
        [
            _average(scores.get(identity) or [unscored(name, identity)], metrics)
            for identity in samples
        ]
        for name, scores in found.items()
    ]
    cells = np.array(rows, dtype=np.float64)
    groups = {
        level.name: _places(level, [run.samples[identity].tags for identity in samples])
        for level in card.levels
        if level.tagged
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
        units=_units([run.samples[identity] for identity in samples]),
        parts=parts.tables(),
        unsupported={name: len(identities) for name, identities in unsupported.items()},
        strict=strict,
        subset=subset,
    )


def sample_values(run: Run, card: Card, systems: Sequence[str], sample: str) -> Floats:
    """Each system's value on one sample in the column that ranks; NaN where there is none."""
    protocol = protocol_named(run.manifest["protocol"])
    probes = run.probes[sample]
    draws: dict[str, list[Mapping[str, Score]]] = {
        name: [protocol.score(run.samples[sample], probes, {})] for name in systems
    }
    for key, values in run.values(sample):
        if key.system in draws:
            draws[key.system].append(protocol.score(run.samples[sample], probes, values))
    metrics = [metric.name for metric in card.metrics]
    rows = [[score.value for score in _average(found, metrics)] for found in draws.values()]
    columns = add_composite(card, np.array(rows, dtype=np.float64))
    ranking: Floats = columns[:, card.columns.index(card.ranking)]
    return ranking


def _units(samples: Sequence[Sample]) -> Integers:
    """What each sample was made from, numbered: its source picture, or itself."""
    names = [str(sample.source or sample.id) for sample in samples]
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


class _Parts:
    """Collects the scores of samples' parts, for the levels that group them."""

    def __init__(
        self, card: Card, systems: Sequence[str], samples: Sequence[str], metrics: Sequence[str]
    ) -> None:
        self._at = tuple(
            {name: at for at, name in enumerate(names)} for names in (systems, samples, metrics)
        )
        self._groups = {
            level.name: {group: at for at, group in enumerate(level.groups)}
            for level in card.levels
            if level.parts
        }
        shape = (len(systems), len(samples))
        self._arrays = {
            name: np.zeros((4, *shape, len(groups), len(metrics)))
            for name, groups in self._groups.items()
        }
        self._draws = np.zeros(shape)

    def add(self, key: EditKey, found: Mapping[str, Sequence[Part]]) -> None:
        systems, samples, metrics = self._at
        place = (systems[key.system], samples[key.sample])
        self._draws[place] += 1
        for level, parts in found.items():
            groups, (sums, counts, scored, total) = self._groups[level], self._arrays[level]
            for group, metric, score in parts:
                at = (*place, groups[group], metrics[metric])
                if score.value is not None:
                    sums[at] += score.value
                    counts[at] += 1
                scored[at] += score.scored
                total[at] += score.total

    def tables(self) -> dict[str, PartTable]:
        """The mean over a sample's draws of what was collected."""
        draws = np.maximum(self._draws, 1)[..., None, None]
        return {
            name: PartTable(
                sums / draws, counts / draws, scored.astype(np.int64), total.astype(np.int64)
            )
            for name, (sums, counts, scored, total) in self._arrays.items()
        }


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
    """Values whose last axis is the card's metrics, with the composite behind them, if any."""
    if card.composite is None:
        return values
    composite = np.zeros(values.shape[:-1])
    for column, metric in enumerate(card.metrics):
        weight = card.composite.weights.get(metric.name, 0.0)
        if weight:
            composite = composite + weight * values[..., column]
    return np.concatenate([values, composite[..., None]], axis=-1)
