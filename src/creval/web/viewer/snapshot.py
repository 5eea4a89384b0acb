"""A run as it was at one moment: what was asked, how each question ended for each model, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.analysis.score_table import tabulate
from creval.benchmarks import protocol_named
from creval.core.benchmark import Protocol
from creval.core.errors import CrevalError
from creval.core.files import many_small_objects
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.schema import Card, Level
from creval.report import missing, sentences
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Scorecard, scorecard

if TYPE_CHECKING:
    from creval.store.lookup import CloseUp
    from creval.store.run import Missing, Run

RESAMPLES = 2_000


class State(IntEnum):
    """How a question ended for a model. Right is more than half of what an answer can be worth."""

    UNASKED = 0
    RIGHT = 1
    WRONG = 2
    UNANSWERED = 3
    UNSCORED = 4  # measured, answered where no reference says what is right, or not supported


class Item(NamedTuple):
    """A question or measurement of a sample, and its place among those of the sample."""

    sample: str
    probe: Probe
    place: int


@dataclass(frozen=True)
class Snapshot:
    """All that list pages need, in memory.

    `states` has the axes item, system. `missing` are the edits that are not there; `unsupported`,
    by system and sample, those that a system cannot make. `scores` come later than the rest, which
    `behind` says: then they are those of the snapshot before, or none.
    """

    folder: str
    manifest: Mapping[str, Any]
    protocol: Protocol
    card: Card
    systems: tuple[str, ...]
    samples: Mapping[str, Sample]
    items: tuple[Item, ...]
    states: NDArray[np.uint8]
    verdicts: int
    table: ScoreTable | None
    scores: Scorecard | None
    notes: tuple[str, ...]
    missing: tuple[Missing, ...] = ()
    unsupported: frozenset[tuple[str, str]] = frozenset()
    behind: bool = True

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Each sample's place in the benchmark's order."""
        return {name: at for at, name in enumerate(self.samples)}

    @cached_property
    def sample_of(self) -> NDArray[np.int64]:
        """The place of each item's sample."""
        return np.array([self.places[item.sample] for item in self.items], dtype=np.int64)

    @cached_property
    def spans(self) -> Mapping[str, range]:
        """Where each sample's items stand."""
        ends = np.searchsorted(self.sample_of, np.arange(len(self.samples) + 1)).tolist()
        return {name: range(ends[at], ends[at + 1]) for name, at in self.places.items()}

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What each item weighs; a measurement, nothing."""
        return np.array([getattr(item.probe, "weight", 0.0) for item in self.items])

    @cached_property
    def known_weights(self) -> tuple[float, ...]:
        """The weights that questions have, where they are not all the same."""
        asked = [isinstance(item.probe, Question) for item in self.items]
        found = np.unique(self.weights[np.array(asked, dtype=bool)]).tolist()
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def metric_of(self) -> NDArray[np.str_]:
        """The metric of each item."""
        return np.array([item.probe.metric for item in self.items], dtype=np.str_)

    @cached_property
    def group_of(self) -> Mapping[str, NDArray[np.int64]]:
        """Each item's group in each level that has any, as its place in the level's order."""
        found = {}
        for level in self.card.levels:
            if level.tagged or level.parts:
                place = {group: at for at, group in enumerate(level.groups)}
                groups = (self._group(level, item) for item in self.items)
                found[level.name] = np.array([place.get(group, -1) for group in groups])
        return found

    def _group(self, level: Level, item: Item) -> str:
        sample = self.samples[item.sample]
        if not level.parts:
            return sample.tags.get(level.name, "")
        step = getattr(item.probe, "step", None)
        return sample.steps[step].kind if step is not None and step < len(sample.steps) else ""

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that something was asked or measured for."""
        there = {item.probe.metric for item in self.items}
        return tuple(metric.name for metric in self.card.metrics if metric.name in there)

    @cached_property
    def graded(self) -> bool:
        """Whether answers are grades on a scale, of which none is simply right."""
        return any(isinstance(i.probe, Question) and i.probe.reference is None and
                   i.probe.contract != "yes/no" for i in self.items)  # fmt: skip

    @cached_property
    def measured_only(self) -> bool:
        """Whether nothing was asked of a judge."""
        return all(isinstance(item.probe, Measurement) for item in self.items)

    def ready(self) -> None:
        """Work out now what the first page would have to."""
        for name in ("spans", "known_weights", "metric_of", "group_of", "metrics", "graded"):
            getattr(self, name)

    def probes(self, sample: str) -> Sequence[Item]:
        """What was asked and measured of a sample."""
        span = self.spans[sample]
        return self.items[span.start : span.stop]

    def scored(self) -> Snapshot:
        """The same with scores."""
        if self.table is None:
            return replace(self, scores=None, behind=False)
        return replace(self, scores=scorecard(self.table, resamples=RESAMPLES), behind=False)


def take(run: CloseUp, before: Snapshot | None = None) -> Snapshot:
    """A snapshot of a run, still without scores of its own."""
    protocol = protocol_named(run.manifest["protocol"])
    items = tuple(
        Item(sample, probe, place)
        for sample, probes in run.probes.items()
        for place, probe in enumerate(probes)
    )
    try:
        table = tabulate(run) if run.samples else None
    except CrevalError:  # there are no edits yet
        table = None
    return Snapshot(
        folder=str(run.folder),
        manifest=run.manifest,
        protocol=protocol,
        card=protocol.card.over(run.levels),
        systems=run.systems,
        samples=run.samples,
        items=items,
        states=_states(run, protocol, items),
        verdicts=run.count(),
        table=table,
        scores=before.scores if before is not None else None,
        notes=_notes(run, table),
        missing=tuple(run.missing()),
        unsupported=run.unsupported,
    )


def _notes(run: Run, table: ScoreTable | None) -> tuple[str, ...]:
    if table is None:
        return ("This run holds no edits yet.",)
    # Sentences about a card need no intervals.
    card = Scorecard(table, {}, ())
    problems = int(run.manifest.get("problems", 0))
    gone = missing.of_table(run, table)
    return (
        sentences.strictness(card, problems),
        *sentences.unsupported(card.table),
        *sentences.voices(run, card),
        *missing.told(gone),
        *missing.rule(table, gone),
    )


def _states(run: Run, protocol: Protocol, items: Sequence[Item]) -> NDArray[np.uint8]:
    """How each item ended for each system. Of several draws the mean counts."""
    column = {name: at for at, name in enumerate(run.systems)}
    row = {(item.sample, item.probe.id): at for at, item in enumerate(items)}
    states = np.zeros((len(items), len(column)), dtype=np.uint8)
    sums = np.zeros((2, len(items), len(column)))  # credit, and how often there was one
    with many_small_objects():
        for key, values in run.values():
            system = column[key.system]
            for name, value in values.items():
                at = row.get((key.sample, name))
                if at is None:
                    continue
                credit = _credit(protocol, items[at].probe, value)
                if credit is not None:
                    sums[0, at, system] += credit
                    sums[1, at, system] += 1
                elif states[at, system] != State.UNSCORED:
                    states[at, system] = State.UNANSWERED if value is None else State.UNSCORED
    there = sums[1] > 0
    right = sums[0] > 0.5 * sums[1]
    states[there & right] = State.RIGHT
    states[there & ~right] = State.WRONG
    places: dict[str, list[int]] = {}
    for at, item in enumerate(items if run.unsupported else ()):
        places.setdefault(item.sample, []).append(at)
    for name, sample in run.unsupported:
        states[places.get(sample, []), column[name]] = State.UNSCORED
    return states


def _credit(protocol: Protocol, probe: Probe, value: float | None) -> float | None:
    return protocol.credit(probe, value) if isinstance(probe, Question) else None


def state_of(protocol: Protocol, probe: Probe, value: float | None) -> State:
    """How a question ended that has one value, or none."""
    credit = _credit(protocol, probe, value)
    if credit is None:
        return State.UNANSWERED if value is None else State.UNSCORED
    return State.RIGHT if credit > 0.5 else State.WRONG
