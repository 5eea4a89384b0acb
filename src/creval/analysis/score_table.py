"""A run's answers and values, made into a table of every sample's scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from creval.benchmarks import protocol_named
from creval.core.edit import EditKey
from creval.core.errors import CrevalError, known_name
from creval.core.files import many_small_objects
from creval.core.sample import Sample
from creval.core.schema import Card, Level, Score, Weights
from creval.stats.missing import EXCLUDE, ZERO, check_rule, counting, worst_parts, worst_score
from creval.stats.score_table import ScoreTable, add_composite
from creval.stats.scorecard import Scorecard, scorecard
from creval.stats.subscores import Floats, Integers, Parts

if TYPE_CHECKING:
    from creval.store.run import Run


def score(
    run: Run,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    systems: tuple[str, ...] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    average: bool = False,
    missing: str = EXCLUDE,
    common: bool = False,
) -> Scorecard:
    """Score a run at every level of its protocol, with intervals and coverage.

    `average` adds the mean over the models. Samples without an edit are left out or, with
    `missing="zero"`, count as failed; `common` keeps only the samples that all models have.
    """
    table = tabulate(
        run, strict=strict, subset=subset, weights=weights, systems=systems, missing=missing,
        common=common,
    )  # fmt: skip
    return scorecard(table, resamples=resamples, seed=seed, average=average)


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
    table = _Filling(run, samples, strict, weights, systems, averaged, missing).table()
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
    less = _Filling(
        run, kept, table.strict, weights, table.systems, averaged, table.missing
    ).table()
    less = replace(less, card=table.card, subset=table.subset, missing=table.missing)
    return replace(less.shared(len(less.systems)), common_of=len(table.samples))


class _Filling:
    """A table in the making: what each system scored on each sample, draw by draw."""

    def __init__(
        self,
        run: Run,
        samples: tuple[str, ...],
        strict: bool,
        weights: Weights | None,
        systems: tuple[str, ...] | None,
        averaged: bool,
        missing: str,
    ) -> None:
        protocol = protocol_named(run.manifest["protocol"])
        if strict and not protocol.has_strict:
            raise CrevalError(f"--strict: {protocol.name} is scored in one way only.")
        self._run, self._samples, self._strict, self._averaged = run, samples, strict, averaged
        self._protocol = protocol if weights is None else protocol.weighted(weights)
        self._card = self._protocol.card.over(run.levels)
        self._metrics = [metric.name for metric in self._card.metrics]
        systems = run.systems if systems is None else systems
        for name in systems:
            known_name("model", name, run.systems)
        if not systems:
            raise CrevalError(f"{run.folder} holds no edits yet.")
        self._draws: dict[str, dict[str, list[Mapping[str, Score]]]] = {
            name: {} for name in systems
        }
        self._failed = failings(run, missing, self._draws, frozenset(samples))
        self._declared = frozenset() if self._card.unsupported is None else run.unsupported
        self._asking = _Asking(run, systems, samples)
        self._seen = _Seen(self._card)
        self._places = any(level.parts for level in self._card.levels)
        self._parts = Parts(self._card, systems, samples, self._metrics)

    def table(self) -> ScoreTable:
        unsupported = {
            name: [one for one in self._samples if (name, one) in self._declared]
            for name in self._draws
        }
        for name, identities in unsupported.items():
            self._asking.unasked[name] -= self._asking.questions(identities)
        self._read()
        self._fail()
        samples = [self._run.samples[identity] for identity in self._samples]
        rows = [[self._mean(name, sample.id) for sample in samples] for name in self._draws]
        cells = np.array(rows, dtype=np.float64)
        return ScoreTable(
            card=self._card,
            systems=tuple(self._draws),
            samples=self._samples,
            groups={
                level.name: _places(level, [sample.tags for sample in samples])
                for level in self._card.levels
                if level.tagged
            },
            values=cells[..., 0],
            scored=cells[..., 1].astype(np.int64),
            total=cells[..., 2].astype(np.int64),
            unanswered=self._asking.unanswered,
            unasked=self._asking.unasked,
            units=_units(samples),
            parts=self._parts.tables(),
            unsupported={name: len(identities) for name, identities in unsupported.items()},
            strict=self._strict,
        )

    def _read(self) -> None:
        """Score all draws that there are; where others are missing, also to see of what the run,
        whichever its systems, has any value."""
        run, wanted = self._run, frozenset(self._samples)
        lacking = bool(self._failed or self._declared)
        with many_small_objects():
            for key, values in run.values(averaged=self._averaged):
                inside = key.system in self._draws and key.sample in wanted
                if not inside and not lacking:
                    continue
                sample, probes = run.samples[key.sample], run.probes[key.sample]
                score = self._protocol.score(sample, probes, values, strict=self._strict)
                if lacking:
                    self._seen.add(sample, score)
                if inside:
                    self._asking.add(key, values)
                    self._draws[key.system].setdefault(key.sample, []).append(score)
                    if self._places:
                        self._parts.add(key, self._protocol.parts(sample, probes, values))

    def _fail(self) -> None:
        """Count what failed as draws that score the worst, of all that the run scores."""
        run = self._run
        for key in self._failed:
            sample = run.samples[key.sample]
            scored = {name for name in self._metrics if self._seen.has(sample, name)}
            worst = worst_score(self._card, self._unscored(key.system, key.sample), scored)
            self._draws[key.system].setdefault(key.sample, []).append(worst)
            if self._places:
                nothing = self._protocol.parts(sample, run.probes[key.sample], {})
                self._parts.add(key, worst_parts(self._card, nothing, scored))

    def _mean(self, system: str, sample: str) -> list[Score]:
        draws = self._draws[system].get(sample) or [self._unscored(system, sample)]
        return _average(draws, self._metrics)

    def _unscored(self, system: str, identity: str) -> Mapping[str, Score]:
        """What a sample scores of which there is no verdict."""
        run, card = self._run, self._card
        sample = run.samples[identity]
        found = self._protocol.score(sample, run.probes[identity], {})
        if (system, identity) not in self._declared:
            return found
        counted = {
            metric.name
            for metric in card.metrics
            if not metric.raw
            and found[metric.name].total
            and self._seen.has(sample, metric.name, alone=True)
        }
        return {
            metric: Score(card.unsupported if metric in counted else None, 0, 0) for metric in found
        }


class _Seen:
    """Of which metrics a run has values: nobody fails at what was not asked or measured."""

    def __init__(self, card: Card) -> None:
        level = card.level("overall")
        while level.of is not None:
            level = card.level(level.of)
        self._level = level.name
        self._anywhere: set[str] = set()
        self._inside: dict[str, dict[str, bool]] = {}

    def add(self, sample: Sample, score: Mapping[str, Score]) -> None:
        """A draw's score."""
        inside = self._inside.setdefault(sample.tags.get(self._level, ""), {})
        for name, (value, _, total) in score.items():
            if value is not None:
                inside[name] = True
                self._anywhere.add(name)
            elif total:
                inside.setdefault(name, False)

    def has(self, sample: Sample, metric: str, *, alone: bool = False) -> bool:
        """Whether there are values of a metric in the sample's group, the finest that the whole
        rests on; where nobody has an edit there, anywhere, or as is said for such a group."""
        inside = self._inside.get(sample.tags.get(self._level, ""), {})
        return inside.get(metric, alone or metric in self._anywhere)


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


def failings(
    run: Run, missing: str, systems: Collection[str], samples: Collection[str]
) -> list[EditKey]:
    """The edits of these systems and samples that are not there and count as failed."""
    statuses = counting(missing)
    if not statuses:
        return []
    if missing == ZERO and "answers_folder" in run.manifest:
        raise CrevalError(
            "--missing zero: recorded answers do not say whether an edit that has none was ever "
            "made."
        )
    found = [
        gone.edit
        for gone in run.missing()
        if gone.status in statuses and gone.edit.system in systems and gone.edit.sample in samples
    ]
    heard = run.metrics_heard() if found else ()
    open_ = [
        key
        for key in (run.unjudged() if found else ())
        if key.sample in samples and any(p.metric in heard for p in run.probes[key.sample])
    ]
    for name in dict.fromkeys(key.system for key in found):
        count = sum(key.system == name for key in open_)
        if count:
            raise CrevalError(
                f"--missing zero: {count} edits of {name!r} are not judged, and beside the others "
                "those that are missing would weigh too much. Repeat `creval judge` until all are, "
                "or leave missing ones out."
            )
    return found
