"""Every sample's scores, as arrays: what all statistics start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creval.benchmarks import protocol_named
from creval.core.card import Card, Level, Score, Weights
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects
from creval.core.probe import EditKey
from creval.core.sample import Sample
from creval.stats.missing import EXCLUDE, check_rule, failings, worst_parts, worst_score
from creval.stats.parts import Floats as Floats
from creval.stats.parts import Integers as Integers
from creval.stats.parts import Parts, PartTable

if TYPE_CHECKING:
    from creval.store.run import Run


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
    missing: str = EXCLUDE,
    common: bool = False,
) -> ScoreTable:
    """A run's sample scores. Several draws of one system are averaged; so are several answers to
    one question, if that is wanted, where else the majority counts.

    `missing` says whether samples without an edit are left out (`exclude`) or count as failed
    (`zero`); with `common` only samples count that all systems have a score of.
    """
    check_rule(missing, common)
    samples = run.subset(subset)
    table = _tabulated(run, samples, strict, weights, systems, averaged, missing)
    table = replace(table, subset=subset, missing=missing)
    return restricted(run, table, weights=weights, averaged=averaged) if common else table


def restricted(
    run: Run,
    table: ScoreTable,
    samples: tuple[str, ...] | None = None,
    *,
    weights: Weights | None = None,
    averaged: bool = False,
) -> ScoreTable:
    """The same on these samples, or on those that all systems have a score of; where one has no
    value of a metric there, no other has."""
    kept = table.common() if samples is None else samples
    if not kept:
        there = (~np.isnan(table.values)).any(axis=2).sum(axis=1)
        least = int(there.argmin())
        raise CrevalError(
            f"--common-samples: no sample has a score of all {len(table.systems)} models; "
            f"{table.systems[least]!r} has one of {there[least]}. Choose others with --models."
        )
    less = _tabulated(run, kept, table.strict, weights, table.systems, averaged, table.missing)
    less = replace(less, card=table.card, subset=table.subset, missing=table.missing)
    return replace(less.shared(len(less.systems)), common_of=len(table.samples))


class _Asking:
    """Of each system, how many questions were asked and not answered, and how many never asked."""

    def __init__(self, run: Run, systems: Sequence[str], samples: Sequence[str]) -> None:
        self._probes, self._measured = run.probes, run.measurements
        self.unanswered = dict.fromkeys(systems, 0)
        self.unasked = dict.fromkeys(systems, self.questions(samples))
        self._asked: dict[tuple[str, str], int] = {}

    def questions(self, samples: Sequence[str]) -> int:
        """How many there are for these samples; what is measured is no question."""
        count = sum(len(self._probes[identity]) for identity in samples)
        if self._measured:
            probes = (probe.id for identity in samples for probe in self._probes[identity])
            count -= sum(probe in self._measured for probe in probes)
        return count

    def add(self, key: EditKey, values: Mapping[str, float | None]) -> None:
        """What was answered about one draw of an edit; the most that was asked of one counts."""
        if self._measured:
            values = {name: v for name, v in values.items() if name not in self._measured}
        self.unanswered[key.system] += list(values.values()).count(None)
        more = len(values) - self._asked.get((key.system, key.sample), 0)
        if more > 0:
            self.unasked[key.system] -= more
            self._asked[key.system, key.sample] = len(values)


def _tabulated(
    run: Run,
    samples: tuple[str, ...],
    strict: bool,
    weights: Weights | None,
    systems: tuple[str, ...] | None,
    averaged: bool,
    missing: str,
) -> ScoreTable:
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
    found: dict[str, dict[str, list[Mapping[str, Score]]]] = {name: {} for name in chosen}
    asking = _Asking(run, chosen, samples)
    wanted = frozenset(samples)
    metrics = [metric.name for metric in card.metrics]
    parts = Parts(card, chosen, samples, metrics)
    places = any(level.parts for level in card.levels)
    failed = failings(run, missing, found, wanted)
    # What a run was not asked for is nobody's failing.
    unseen = set(metrics) if failed else set()
    declared = frozenset() if card.unsupported is None else run.unsupported
    counted = {metric.name for metric in card.metrics if not metric.raw}
    unsupported = {
        name: [identity for identity in samples if (name, identity) in declared] for name in chosen
    }
    for name, identities in unsupported.items():
        asking.unasked[name] -= asking.questions(identities)

    def unscored(system: str, identity: str) -> Mapping[str, Score]:
        found = protocol.score(run.samples[identity], run.probes[identity], {})
        if (system, identity) not in declared:
            return found
        return {
            metric: Score(card.unsupported if score.total and metric in counted else None, 0, 0)
            for metric, score in found.items()
        }

    with many_small_objects():
        for key, values in run.values(averaged=averaged):
            inside = key.system in found and key.sample in wanted
            if not inside and not unseen:
                continue
            sample, probes = run.samples[key.sample], run.probes[key.sample]
            score = protocol.score(sample, probes, values, strict=strict)
            if unseen:
                unseen -= {name for name in unseen if score[name].value is not None}
            if inside:
                asking.add(key, values)
                found[key.system].setdefault(key.sample, []).append(score)
                if places:
                    parts.add(key, protocol.parts(sample, probes, values))
    for key in failed:
        scored = set(metrics) - unseen
        worst = worst_score(card, unscored(key.system, key.sample), scored)
        found[key.system].setdefault(key.sample, []).append(worst)
        if places:
            nothing = protocol.parts(run.samples[key.sample], run.probes[key.sample], {})
            parts.add(key, worst_parts(card, nothing, scored))
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
        unanswered=asking.unanswered,
        unasked=asking.unasked,
        units=_units([run.samples[identity] for identity in samples]),
        parts=parts.tables(),
        unsupported={name: len(identities) for name, identities in unsupported.items()},
        strict=strict,
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
    """What each sample was made of, numbered."""
    names = [sample.unit for sample in samples]
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], dtype=np.int64)


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
