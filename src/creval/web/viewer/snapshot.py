"""A run as it was at one moment: what was asked, how each question ended for each model, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.analysis.scoring import build_score_table
from creval.analysis.scoring_options import ViewOptions, resolve_options
from creval.benchmarks import protocol_of_run
from creval.core.benchmark import Protocol
from creval.core.files import gc_paused
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import Sample
from creval.core.schema import Level, ScoreSchema
from creval.reporting import missing_edits, sentences
from creval.reporting.manifest_sentences import manifest_sentences
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import Scorecard, build_scorecard
from creval.store.manifest import benchmark_title

if TYPE_CHECKING:
    from creval.store.lookup import RunLookup
    from creval.store.run import MissingEdit, Run

RESAMPLES = 2_000


class AnswerState(IntEnum):
    """How a question ended for a model. Right is more than half of what an answer can be worth."""

    UNASKED = 0
    RIGHT = 1
    WRONG = 2
    UNANSWERED = 3
    NO_EDIT = 5
    UNSCORED = 4  # measured, answered where no reference says what is right, or not supported


class SampleProbe(NamedTuple):
    """A question or measurement of a sample, and its place among those of the sample."""

    sample: str
    probe: Probe
    position: int


@dataclass(frozen=True)
class Snapshot:
    """All that list pages need, in memory.

    `states` has the axes item, system. `missing` are the edits that are not there; `without_edit`, by system and
    sample, those of which no draw is there; `unsupported` those that a system cannot make. `scores` come later than
    the rest, which `scores_outdated` says: then they are those of the snapshot before, or none.
    """

    folder: str
    manifest: Mapping[str, Any]
    protocol: Protocol
    schema: ScoreSchema
    models: tuple[str, ...]
    samples: Mapping[str, Sample]
    items: tuple[SampleProbe, ...]
    states: NDArray[np.uint8]
    verdicts: int
    calls: int
    table: ScoreTable | None
    scores: Scorecard | None
    notes: tuple[str, ...]
    missing: tuple[MissingEdit, ...] = ()
    without_edit: frozenset[tuple[str, str]] = frozenset()
    unsupported: frozenset[tuple[str, str]] = frozenset()
    scores_outdated: bool = True

    @property
    def title(self) -> str:
        """The benchmark's name."""
        return benchmark_title(self.manifest)

    @cached_property
    def sample_positions(self) -> Mapping[str, int]:
        """Each sample's place in the benchmark's order."""
        return {name: at for at, name in enumerate(self.samples)}

    @cached_property
    def item_samples(self) -> NDArray[np.int64]:
        """The place of each item's sample."""
        return np.array([self.sample_positions[item.sample] for item in self.items], dtype=np.int64)

    @cached_property
    def item_ranges(self) -> Mapping[str, range]:
        """Where each sample's items stand."""
        ends = np.searchsorted(self.item_samples, np.arange(len(self.samples) + 1)).tolist()
        return {name: range(ends[at], ends[at + 1]) for name, at in self.sample_positions.items()}

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What each item weighs; a measurement, nothing."""
        return np.array([getattr(item.probe, "weight", 0.0) for item in self.items])

    @cached_property
    def distinct_weights(self) -> tuple[float, ...]:
        """The weights that questions have, where they are not all the same."""
        asked = [isinstance(item.probe, Question) for item in self.items]
        found = np.unique(self.weights[np.array(asked, dtype=bool)]).tolist()
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def item_metrics(self) -> NDArray[np.str_]:
        """The metric of each item."""
        return np.array([item.probe.metric for item in self.items], dtype=np.str_)

    @cached_property
    def item_groups(self) -> Mapping[str, NDArray[np.int64]]:
        """Each item's group in each level that has any, as its place in the level's order."""
        found = {}
        for level in self.schema.levels:
            if level.groups_samples or level.groups_sub_scores:
                place = {group: at for at, group in enumerate(level.groups)}
                groups = (self._group(level, item) for item in self.items)
                found[level.name] = np.array([place.get(group, -1) for group in groups])
        return found

    def _group(self, level: Level, item: SampleProbe) -> str:
        sample = self.samples[item.sample]
        if not level.groups_sub_scores:
            return sample.tags.get(level.name, "")
        step = getattr(item.probe, "step", None)
        return sample.steps[step].kind if step is not None and step < len(sample.steps) else ""

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that something was asked or measured for."""
        there = {item.probe.metric for item in self.items}
        return tuple(metric.name for metric in self.schema.metrics if metric.name in there)

    @cached_property
    def has_grades(self) -> bool:
        """Whether answers are grades on a scale, of which none is simply right."""
        return any(
            isinstance(i.probe, Question) and i.probe.reference is None and i.probe.scale != "yes/no"
            for i in self.items
        )

    @cached_property
    def measured_only(self) -> bool:
        """Whether nothing was asked of a judge."""
        return all(isinstance(item.probe, Measurement) for item in self.items)

    def precompute(self) -> None:
        """Work out now what the first page would have to."""
        for name in ("item_ranges", "distinct_weights", "item_metrics", "item_groups", "metrics", "has_grades"):
            getattr(self, name)

    def sample_items(self, sample: str) -> Sequence[SampleProbe]:
        """What was asked and measured of a sample."""
        span = self.item_ranges[sample]
        return self.items[span.start : span.stop]

    def with_scores(self) -> Snapshot:
        """The same with scores."""
        if self.table is None:
            return replace(self, scores=None, scores_outdated=False)
        return replace(self, scores=build_scorecard(self.table, resamples=RESAMPLES), scores_outdated=False)


def take_snapshot(run: RunLookup, previous: Snapshot | None = None, scoring: ViewOptions | None = None) -> Snapshot:
    """A snapshot of a run, or of the models and samples that are chosen, still without scores of its own."""
    protocol = protocol_of_run(run.manifest)
    chosen: dict[str, Any] = dict(resolve_options(scoring or ViewOptions(), run.manifest))
    table = build_score_table(run, **chosen) if run.samples and run.models else None
    models = run.models if table is None else table.models
    samples = {name: run.samples[name] for name in run.sample_ids(chosen["subset"])}
    gone = tuple(one for one in run.missing_edits() if one.edit.model in models and one.edit.sample in samples)
    imaged = {(key.model, key.sample) for key, path in run.image_paths() if path is not None}
    without_edit = frozenset((one.edit.model, one.edit.sample) for one in gone) - imaged
    items = tuple(
        SampleProbe(sample, probe, place) for sample in samples for place, probe in enumerate(run.probes[sample])
    )
    return Snapshot(
        folder=str(run.folder),
        manifest=run.manifest,
        protocol=protocol,
        schema=protocol.schema.with_levels(run.levels) if table is None else table.schema,
        models=models,
        samples=samples,
        items=items,
        states=_answer_states(run, protocol, items, models, without_edit),
        verdicts=run.count_verdicts(),
        calls=run.costs().calls,
        table=table,
        scores=previous.scores if previous is not None and previous.models == run.models else None,
        notes=_snapshot_notes(run, table),
        missing=gone,
        without_edit=without_edit,
        unsupported=frozenset(one for one in run.unsupported if one[0] in models and one[1] in samples),
    )


def _snapshot_notes(run: Run, table: ScoreTable | None) -> tuple[str, ...]:
    if table is None:
        return ("This run holds no edits yet.",)
    # Sentences about a card need no intervals.
    card = Scorecard(table, {}, ())
    problems = int(run.manifest.get("problems", 0))
    gone = missing_edits.missing_from_table(run, table)
    return (
        *manifest_sentences(run.manifest),
        sentences.strictness_sentence(card, problems),
        *sentences.unsupported_sentences(card.table),
        *sentences.voice_sentences(run, card),
        *missing_edits.missing_sentences(gone),
        *missing_edits.missing_policy_sentences(table, gone),
    )


def _answer_states(
    run: Run,
    protocol: Protocol,
    items: Sequence[SampleProbe],
    models: Sequence[str],
    without_edit: frozenset[tuple[str, str]],
) -> NDArray[np.uint8]:
    """How each item ended for each system. Of several draws the mean counts."""
    column = {name: at for at, name in enumerate(models)}
    row = {(item.sample, item.probe.id): at for at, item in enumerate(items)}
    states = np.zeros((len(items), len(column)), dtype=np.uint8)
    sums = np.zeros((2, len(items), len(column)))  # credit, and how often there was one
    with gc_paused():
        for key, values in run.values_by_edit():
            model = column.get(key.model)
            if model is None:
                continue
            for name, value in values.items():
                at = row.get((key.sample, name))
                if at is None:
                    continue
                credit = probe_credit(protocol, items[at].probe, value)
                if credit is not None:
                    sums[0, at, model] += credit
                    sums[1, at, model] += 1
                elif states[at, model] != AnswerState.UNSCORED:
                    states[at, model] = AnswerState.UNANSWERED if value is None else AnswerState.UNSCORED
    there = sums[1] > 0
    right = sums[0] > 0.5 * sums[1]
    states[there & right] = AnswerState.RIGHT
    states[there & ~right] = AnswerState.WRONG
    places: dict[str, list[int]] = {}
    for at, item in enumerate(items if run.unsupported or without_edit else ()):
        places.setdefault(item.sample, []).append(at)
    for name, sample in run.unsupported:
        if name in column:
            states[places.get(sample, []), column[name]] = AnswerState.UNSCORED
    for name, sample in without_edit - run.unsupported:
        rows = places.get(sample, [])
        unasked = states[rows, column[name]] == AnswerState.UNASKED
        states[np.array(rows, dtype=np.int64)[unasked], column[name]] = AnswerState.NO_EDIT
    return states


def probe_credit(protocol: Protocol, probe: Probe, value: float | None) -> float | None:
    """What a value of a question is worth; nothing where that cannot be said, and of a measurement."""
    return protocol.credit(probe, value) if isinstance(probe, Question) else None
