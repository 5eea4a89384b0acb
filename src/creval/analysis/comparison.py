"""Comparison of two models: differences by level and group, and the samples and questions behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from creval.analysis.scoring import build_score_table
from creval.benchmarks import protocol_of_run
from creval.core.probe import Measurement, Question
from creval.core.schema import Level, Weights
from creval.stats.bootstrap import bootstrap_tables, percentile_interval
from creval.stats.intervals import none_if_nan
from creval.stats.missing import EXCLUDE
from creval.stats.permutation import p_values
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import MIN_CLUSTERS, Difference, pair_evidence, point_estimates

if TYPE_CHECKING:
    from creval.store.run import Run, VerdictRow


@dataclass(frozen=True)
class QuestionGap:
    """A question on which two models have different results, and the model with the better one (`winner`).

    `answers` are those of all judges and repeats about each model's edit. `values` has one value for each model,
    reduced from these answers.
    """

    question: Question
    winner: str
    values: tuple[float, float]
    answers: tuple[Sequence[VerdictRow], Sequence[VerdictRow]]


class MeasurementGap(NamedTuple):
    """Values of one measurement for two models, and the metric to which it contributes."""

    name: str
    metric: str
    values: tuple[float, float]


@dataclass(frozen=True)
class SampleGap:
    """A sample's scores by column for both models, and the questions and measurements in which they differ."""

    sample: str
    instruction: str
    first: Mapping[str, float | None]
    second: Mapping[str, float | None]
    questions: tuple[QuestionGap, ...]
    measurements: tuple[MeasurementGap, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Differences (`first` minus `second`) by level, group and column, and the samples with the largest ones."""

    table: ScoreTable
    differences: Mapping[tuple[str, str, str], Difference]
    sample_gaps: tuple[SampleGap, ...]


def compare(
    run: Run,
    first: str,
    second: str,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    top: int = 5,
    missing: str = EXCLUDE,
) -> Comparison:
    """Compare two models on the samples that both have, and find the `top` samples with the largest differences."""
    table = build_score_table(
        run, strict=strict, subset=subset, weights=weights, models=(first, second), missing=missing
    )
    pair = table.select_pairs([(first, second)])
    (drawn,) = bootstrap_tables([pair], resamples, seed)
    there = point_estimates(pair)
    (tested,) = p_values([pair.restrict_to_ranking()], seed)
    differences = {}
    for level in pair.schema.levels:
        low, high = percentile_interval(drawn[level.name][:, :, 0] - drawn[level.name][:, :, 1])
        value = there[level.name][:, 0] - there[level.name][:, 1]
        for g, group in enumerate(level.groups):
            for c, column in enumerate(pair.schema.columns):
                samples, units = _count_evidence(pair, level, g, column)
                enough = units >= MIN_CLUSTERS and not np.isnan(value[g, c])
                ends = (none_if_nan(low[g, c]), none_if_nan(high[g, c])) if enough else (None, None)
                whole = (level.name, column) == ("overall", pair.schema.ranking_column)
                p = tested if whole else None
                differences[level.name, group, column] = Difference(
                    none_if_nan(value[g, c]), *ends, first=first, second=second, samples=samples, p=p
                )
    return Comparison(pair, differences, tuple(_largest_gaps(run, pair, strict, top)))


def _count_evidence(pair: ScoreTable, level: Level, group: int, column: str) -> tuple[int, int]:
    """Return the numbers of samples and clusters behind a difference. A composite has the smallest of its metrics."""
    if level.difference_of is not None:
        finer = pair.schema.find_level(level.difference_of[0])
        two = (finer.groups.index(name) for name in level.difference_of[1:])
        return min(_count_evidence(pair, finer, at, column) for at in two)
    part = pair.sub_scores[level.name] if level.groups_sub_scores else None
    if part is not None:
        here = part.counts[0, :, group] > 0
    else:
        here = pair_evidence(pair)[0] & pair.group_mask(level.name, group)[:, None]
    here = here[:, pair.schema.component_indices(column)]
    return int(here.sum(axis=0).min()), int(pair.count_clusters(here, None if part is None else part.samples).min())


def _largest_gaps(run: Run, pair: ScoreTable, strict: bool, top: int) -> list[SampleGap]:
    columns = pair.with_composite()
    rank = pair.schema.columns.index(pair.schema.ranking_column)
    gap = np.nan_to_num(np.abs(columns[0, :, rank] - columns[1, :, rank]))
    order = [at for at in np.argsort(-gap, kind="stable")[:top] if gap[at] > 0]
    wanted = {pair.samples[at] for at in order}
    # With several draws, the first represents the model.
    values: dict[tuple[str, str], Mapping[str, float | None]] = {}
    for key, found in sorted(run.values_by_edit(), key=itemgetter(0)):
        if key.model in pair.models and key.sample in wanted:
            values.setdefault((key.model, key.sample), found)
    gaps = []
    for at in order:
        sample = pair.samples[at]
        first, second = (
            {name: none_if_nan(value) for name, value in zip(pair.schema.columns, row, strict=True)}
            for row in columns[:, at]
        )
        both = [values.get((model, sample), {}) for model in pair.models]
        questions, measured = _question_gaps(run, pair, sample, both, strict), _measurement_gaps(run, sample, both)
        instruction = run.samples[sample].instruction
        gaps.append(SampleGap(sample, instruction, first, second, tuple(questions), tuple(measured)))
    return gaps


def _measurement_gaps(run: Run, sample: str, both: Sequence[Mapping[str, float | None]]) -> Iterator[MeasurementGap]:
    """Yield the measurements in which two models differ, in the protocol's order."""
    for probe in run.probes[sample]:
        first, second = (found.get(probe.id) for found in both)
        if isinstance(probe, Measurement) and first is not None and second is not None and first != second:
            yield MeasurementGap(probe.id, probe.metric, (first, second))


def _question_gaps(
    run: Run, pair: ScoreTable, sample: str, values: Sequence[Mapping[str, float | None]], strict: bool
) -> list[QuestionGap]:
    """Return the questions in which two models differ, largest weight first."""
    protocol = protocol_of_run(run.manifest)
    said: list[dict[str, list[VerdictRow]]] = [{}, {}]
    for found, model in zip(said, pair.models, strict=True):
        answers = sorted(run.answers(model, sample), key=lambda answer: answer.edit)
        for answer in answers:
            if answer.edit == answers[0].edit:
                found.setdefault(answer.probe, []).append(answer)
    weights = pair.schema.component_weights(pair.schema.ranking_column)
    questions = [probe for probe in run.probes[sample] if isinstance(probe, Question)]
    total = dict.fromkeys((question.metric for question in questions), 0.0)
    for question in questions:
        total[question.metric] += question.weight
    gaps = []
    for question in questions:
        if not all(question.id in found for found in values):
            continue
        first, second = (protocol.credit(question, found[question.id], strict=strict) for found in values)
        if first is not None and second is not None and first != second:
            both = (said[0][question.id], said[1][question.id])
            one, two = (found[question.id] or 0.0 for found in values)
            winner = pair.models[int(second > first)]
            gaps.append(QuestionGap(question, winner, (one, two), both))
    gaps.sort(key=lambda gap: -gap.question.weight * weights.get(gap.question.metric, 0.0) / total[gap.question.metric])
    return gaps
