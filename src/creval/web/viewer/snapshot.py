"""Snapshot of a run in memory: samples, questions, the state of each answer, and scores."""

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
    """State of a question for a model. RIGHT means more than half of the maximum credit."""

    UNASKED = 0
    RIGHT = 1
    WRONG = 2
    UNANSWERED = 3
    NO_EDIT = 5
    UNSCORED = 4  # a measurement, an answer without a reference, or an unsupported edit


class SampleProbe(NamedTuple):
    """A question or measurement of a sample, and its position within the sample."""

    sample: str
    probe: Probe
    position: int


@dataclass(frozen=True)
class Snapshot:
    """The data of a run that list pages need. An item is a question or measurement of one sample.

    - `states`: an `AnswerState` for each item and model.
    - `missing`: edits without an image.
    - `without_edit`: pairs of model and sample without an image of any draw.
    - `unsupported`: pairs of model and sample that the model cannot edit.
    - `scores_outdated`: True until the scores are computed. Until then, `scores` is that of the previous snapshot, or
      None.
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
        """Title of the benchmark."""
        return benchmark_title(self.manifest)

    @cached_property
    def sample_positions(self) -> Mapping[str, int]:
        """Position of each sample in the benchmark."""
        return {name: at for at, name in enumerate(self.samples)}

    @cached_property
    def item_samples(self) -> NDArray[np.int64]:
        """Position of the sample of each item."""
        return np.array([self.sample_positions[item.sample] for item in self.items], dtype=np.int64)

    @cached_property
    def item_ranges(self) -> Mapping[str, range]:
        """Range of items of each sample."""
        ends = np.searchsorted(self.item_samples, np.arange(len(self.samples) + 1)).tolist()
        return {name: range(ends[at], ends[at + 1]) for name, at in self.sample_positions.items()}

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each item; 0 for a measurement."""
        return np.array([getattr(item.probe, "weight", 0.0) for item in self.items])

    @cached_property
    def distinct_weights(self) -> tuple[float, ...]:
        """Weights that occur among the questions. Empty if all are the same."""
        asked = [isinstance(item.probe, Question) for item in self.items]
        found = np.unique(self.weights[np.array(asked, dtype=bool)]).tolist()
        return tuple(found) if len(found) > 1 else ()

    @cached_property
    def item_metrics(self) -> NDArray[np.str_]:
        """Metric of each item."""
        return np.array([item.probe.metric for item in self.items], dtype=np.str_)

    @cached_property
    def item_groups(self) -> Mapping[str, NDArray[np.int64]]:
        """Group of each item by level, as an index into the level's groups; -1 if it has none."""
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
        if step is None:
            return self._groups_of_all_parts.get((level.name, item.sample, item.probe.metric), "")
        return sample.steps[step].kind if step < len(sample.steps) else ""

    @cached_property
    def _groups_of_all_parts(self) -> Mapping[tuple[str, str, str], str]:
        """Group of a sample's parts by level, sample and metric, if all of them are in one group."""
        groups: dict[tuple[str, str, str], set[str]] = {}
        for name, sample in self.samples.items():
            probes = [self.items[at].probe for at in self.item_ranges[name]]
            for level, parts in self.protocol.sub_scores(sample, probes, {}).items():
                for part in parts:
                    groups.setdefault((level, name, part.metric), set()).add(part.group)
        return {key: next(iter(found)) for key, found in groups.items() if len(found) == 1}

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that have at least one question or measurement."""
        used = {item.probe.metric for item in self.items}
        return tuple(metric.name for metric in self.schema.metrics if metric.name in used)

    @cached_property
    def has_grades(self) -> bool:
        """True if some questions are answered with grades, which are not simply right or wrong."""
        return any(
            isinstance(i.probe, Question) and i.probe.reference is None and i.probe.scale != "yes/no"
            for i in self.items
        )

    @cached_property
    def measured_only(self) -> bool:
        """True if the run has measurements only and no questions."""
        return all(isinstance(item.probe, Measurement) for item in self.items)

    def precompute(self) -> None:
        """Compute the cached properties now, so that the first page does not have to."""
        for name in ("item_ranges", "distinct_weights", "item_metrics", "item_groups", "metrics", "has_grades"):
            getattr(self, name)

    def sample_items(self, sample: str) -> Sequence[SampleProbe]:
        """Return the questions and measurements of a sample."""
        span = self.item_ranges[sample]
        return self.items[span.start : span.stop]

    def with_scores(self) -> Snapshot:
        """Return a copy with scores."""
        if self.table is None:
            return replace(self, scores=None, scores_outdated=False)
        return replace(self, scores=build_scorecard(self.table, resamples=RESAMPLES), scores_outdated=False)


def take_snapshot(run: RunLookup, previous: Snapshot | None = None, scoring: ViewOptions | None = None) -> Snapshot:
    """Take a snapshot of the models and samples of a run that `scoring` selects (by default all).

    Scores are not computed: those of the previous snapshot are taken over if its models are the same.
    """
    protocol = protocol_of_run(run.manifest)
    chosen: dict[str, Any] = dict(resolve_options(scoring or ViewOptions(), run.manifest))
    table = build_score_table(run, **chosen) if run.samples and run.models else None
    models = run.models if table is None else table.models
    samples = {name: run.samples[name] for name in run.sample_ids(chosen["subset"])}
    missing = tuple(one for one in run.missing_edits() if one.edit.model in models and one.edit.sample in samples)
    imaged = {(key.model, key.sample) for key, path in run.image_paths() if path is not None}
    without_edit = frozenset((one.edit.model, one.edit.sample) for one in missing) - imaged
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
        missing=missing,
        without_edit=without_edit,
        unsupported=frozenset(one for one in run.unsupported if one[0] in models and one[1] in samples),
    )


def _snapshot_notes(run: Run, table: ScoreTable | None) -> tuple[str, ...]:
    if table is None:
        return ("This run has no edits yet.",)
    # The sentences need no intervals.
    card = Scorecard(table, {}, ())
    problems = int(run.manifest.get("problems", 0))
    missing = missing_edits.missing_from_table(run, table)
    return (
        *manifest_sentences(run.manifest),
        sentences.strictness_sentence(card, problems),
        *sentences.unsupported_sentences(card.table),
        *sentences.voice_sentences(run, card),
        *missing_edits.missing_sentences(missing),
        *missing_edits.missing_policy_sentences(table, missing),
    )


def _answer_states(
    run: Run,
    protocol: Protocol,
    items: Sequence[SampleProbe],
    models: Sequence[str],
    without_edit: frozenset[tuple[str, str]],
) -> NDArray[np.uint8]:
    """Return the state of each item for each model. Several draws count by their mean."""
    column = {name: at for at, name in enumerate(models)}
    row = {(item.sample, item.probe.id): at for at, item in enumerate(items)}
    states = np.zeros((len(items), len(column)), dtype=np.uint8)
    sums = np.zeros((2, len(items), len(column)))  # total credit, and the number of answers with credit
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
    graded = sums[1] > 0
    right = sums[0] > 0.5 * sums[1]
    states[graded & right] = AnswerState.RIGHT
    states[graded & ~right] = AnswerState.WRONG
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
    """Return the credit of an answer, from 0 (wrong) to 1 (right).

    Returns None for a measurement or an answer that does not count.
    """
    return protocol.credit(probe, value) if isinstance(probe, Question) else None
