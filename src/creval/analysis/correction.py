"""Correction of scores for a judge's errors, which are known from a calibration (Rogan and Gladen).

The corrected share of yes answers is share' = (share + specificity - 1) / (sensitivity + specificity - 1). If the
reference answer is no, the score of the question is 1 - share'. Both are linear in the answers, so a metric's corrected
mean follows from its raw mean and the weight of its questions whose reference answer is yes. Sensitivity and
specificity are those of single answers: if a judge was asked several times, the mean of its answers is corrected, not
the majority.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from creval.analysis.scoring import build_score_table, restrict_to
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.schema import Level
from creval.stats.bootstrap import bootstrap_tables, percentile_interval
from creval.stats.calibration import Calibration, JudgeRates
from creval.stats.intervals import none_if_nan
from creval.stats.missing import ZERO
from creval.stats.score_table import Floats, ScoreTable, add_composite
from creval.stats.scorecard import MIN_CLUSTERS, Scorecard, ScoreEstimate, point_estimates
from creval.store.run import Run

_MIN_YOUDEN = 0.1  # least sensitivity + specificity - 1 for a correction


@dataclass(frozen=True)
class CorrectedScores:
    """Corrected cells by level, group, model and column, and the calibrated judge."""

    cells: Mapping[tuple[str, str, str, str], ScoreEstimate]
    judge: str


def correct_scores(
    run: Run, scorecard: Scorecard, calibration: Calibration, *, resamples: int = 2_000, seed: int = 0
) -> CorrectedScores:
    """Correct a run's scores. Intervals include the uncertainty of the calibration."""
    table, rates = scorecard.table, calibration.rates_by_metric
    if table.missing == ZERO:
        raise CrevalError(
            "`correct` cannot be combined with `missing` zero: missing edits have no judge answers to correct."
        )
    voices = run.count_answers_by_voice()
    if len({judge for judge, _ in voices}) > 1:
        raise CrevalError("`correct`: a calibration belongs to one judge, but this run has several.")
    if len(voices) > 1:
        table = build_score_table(run, strict=table.strict, subset=table.subset, models=table.models, averaged=True)
        table = replace(table, schema=scorecard.table.schema)
        if scorecard.table.sample_count_before_common is not None:
            table = restrict_to(run, table, scorecard.table.samples, averaged=True)
    metrics = [metric.name for metric in table.schema.metrics]
    missing = [name for name in metrics if name not in rates]
    if missing:
        raise CrevalError(f"`correct`: the calibration has no rates for {', '.join(missing)}.")
    share = replace(table, values=_affirmative_share(run, table))
    chance = np.random.default_rng(seed)
    scale, shift = _correction_terms(rates, metrics, None, 1)
    scales, shifts = _correction_terms(rates, metrics, chance, resamples)
    raw, of_yes = (point_estimates(one) for one in (table, share))
    drawn, drawn_yes = bootstrap_tables([table, share], resamples, seed)
    cells: dict[tuple[str, str, str, str], ScoreEstimate] = {}
    for level in table.schema.levels:
        if level.difference_of is not None or level.groups_sub_scores:
            continue
        value = _apply_correction(table, raw[level.name][None], of_yes[level.name][None], scale, shift)
        draws = _apply_correction(table, drawn[level.name], drawn_yes[level.name], scales, shifts)
        _fill_cells(cells, scorecard, level, _clip_to_scale(table, value)[0], *_corrected_interval(table, draws))
    return CorrectedScores(cells, calibration.judge)


def _fill_cells(
    cells: dict[tuple[str, str, str, str], ScoreEstimate],
    scorecard: Scorecard,
    level: Level,
    value: Floats,
    low: Floats,
    high: Floats,
) -> None:
    for g, group in enumerate(level.groups):
        members = scorecard.table.group_mask(level.name, g)
        for s, model in enumerate(scorecard.table.models):
            for c, column in enumerate(scorecard.table.schema.columns):
                before = scorecard.cell(model, column, group, level.name)
                there = (~np.isnan(scorecard.table.values[s][members])).any(axis=1).sum()
                ends = (none_if_nan(low[g, s, c]), none_if_nan(high[g, s, c]))
                ends = ends if there >= MIN_CLUSTERS else (None, None)
                cells[level.name, group, model, column] = ScoreEstimate(
                    none_if_nan(value[g, s, c]), *ends, before.scored, before.total
                )


def _affirmative_share(run: Run, table: ScoreTable) -> Floats:
    """Return the weight of the questions whose reference answer is yes, in percent of all; axes as in the table."""
    found = np.full(table.values.shape, np.nan)
    metrics = [metric.name for metric in table.schema.metrics]
    for at, name in enumerate(table.samples):
        weights = {metric: [0.0, 0.0] for metric in metrics}
        for question in run.probes[name]:
            if not isinstance(question, Question) or question.scale != "yes/no":
                raise CrevalError("`correct` supports only yes/no questions.")
            if question.reference is not None:
                weights[question.metric][0] += question.weight * (question.reference == "Yes")
                weights[question.metric][1] += question.weight
        for column, metric in enumerate(metrics):
            yes, total = weights[metric]
            if total:
                found[:, at, column] = 100 * yes / total
    return np.where(np.isnan(table.values), np.nan, found)


def _correction_terms(
    rates: Mapping[str, JudgeRates], metrics: list[str], generator: np.random.Generator | None, count: int
) -> tuple[Floats, Floats]:
    """Return 1 / J and (specificity - 1) / J for J = sensitivity + specificity - 1; axes draw, metric."""
    columns = []
    for metric in metrics:
        both = []
        for rate in (rates[metric].sensitivity, rates[metric].specificity):
            if generator is None:
                both.append(np.full(count, rate.hits / rate.total))
            else:
                both.append(generator.beta(rate.hits + 0.5, rate.total - rate.hits + 0.5, count))
        gain = both[0] + both[1] - 1
        if generator is None and gain[0] < _MIN_YOUDEN:
            raise CrevalError(
                f"`correct`: in {metric} the judge's answers are hardly better than chance "
                f"(sensitivity + specificity - 1 = {gain[0]:.2f}), so they cannot be corrected."
            )
        gain = np.maximum(gain, _MIN_YOUDEN / 2)
        columns.append((1 / gain, (both[1] - 1) / gain))
    scale, shift = (np.stack(parts, axis=-1) for parts in zip(*columns, strict=True))
    return scale, shift


def _apply_correction(table: ScoreTable, raw: Floats, yes_share: Floats, scale: Floats, shift: Floats) -> Floats:
    """Return corrected metrics, which may lie outside the scale; axes draw, group, model, metric."""
    metrics = len(table.schema.metrics)
    mean, yes = raw[..., :metrics], yes_share[..., :metrics] / 100
    scale, shift = scale[:, None, None, :], shift[:, None, None, :]
    found: Floats = scale * mean + 100 * (shift * yes + (1 - shift - scale) * (1 - yes))
    return found


def _clip_to_scale(table: ScoreTable, metrics: Floats) -> Floats:
    """Clip metrics to the scale, and append the composite."""
    return add_composite(table.schema, np.clip(metrics, 0, 100))


def _corrected_interval(table: ScoreTable, draws: Floats) -> tuple[Floats, Floats]:
    """Return the intervals of metrics and composite.

    Clipped draws that all lie at one end of the scale would give an interval of width zero, but a value at the end is
    no more certain than others. The interval then has half the width of the unclipped one.
    """
    low, high = percentile_interval(_clip_to_scale(table, draws))
    whole = np.subtract(*percentile_interval(add_composite(table.schema, draws))[::-1])
    nowhere = low == high
    low = np.where(nowhere & (low > 50), np.maximum(low - whole / 2, 0), low)
    high = np.where(nowhere & (high < 50), np.minimum(high + whole / 2, 100), high)
    return low, high
