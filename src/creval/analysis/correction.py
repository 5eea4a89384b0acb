"""Scores corrected for a judge's errors, which are known from a calibration (Rogan and Gladen).

Of a share of yes, share' = (share + specificity - 1) / (sensitivity + specificity - 1). A question
whose reference is no is passed where that is not so. Both are linear in the answers, so a metric's
corrected mean follows from its raw mean and from how much of it rests on references of yes. The
rates are those of single answers: where a judge was asked several times, their mean is corrected,
not the majority.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from creval.analysis.score_table import restricted, tabulate
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.schema import Level
from creval.stats.bootstrap import interval, replicate
from creval.stats.calibration import Calibration, Rates
from creval.stats.missing import ZERO
from creval.stats.score_table import Floats, ScoreTable, add_composite
from creval.stats.scorecard import FEWEST, Cell, Scorecard, number, points
from creval.store.run import Run

_LEAST = 0.1  # sensitivity + specificity - 1, below which answers tell too little


@dataclass(frozen=True)
class Corrected:
    """Corrected cells by level, group, system and column, for what a calibration found of a
    judge."""

    cells: Mapping[tuple[str, str, str, str], Cell]
    judge: str


def correct(
    run: Run,
    card: Scorecard,
    found: Calibration,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> Corrected:
    """A run's scores, corrected; intervals include what the calibration itself does not know."""
    table, rates = card.table, found.metrics
    if table.missing == ZERO:
        raise CrevalError("--correct is for answers, and --missing zero counts where none are.")
    voices = run.voices()
    if len({judge for judge, _ in voices}) > 1:
        raise CrevalError("--correct: a calibration is of one judge, and this run has several.")
    if len(voices) > 1:
        table = tabulate(
            run, strict=table.strict, subset=table.subset, systems=table.systems, averaged=True
        )
        table = replace(table, card=card.table.card)
        if card.table.common_of is not None:
            table = restricted(run, table, card.table.samples, averaged=True)
    metrics = [metric.name for metric in table.card.metrics]
    missing = [name for name in metrics if name not in rates]
    if missing:
        raise CrevalError(f"--correct: the calibration says nothing about {', '.join(missing)}.")
    share = replace(table, values=_affirmed(run, table))
    chance = np.random.default_rng(seed)
    scale, shift = _terms(rates, metrics, None, chance, 1)
    scales, shifts = _terms(rates, metrics, resamples, chance, resamples)
    raw, of_yes = (points(one) for one in (table, share))
    drawn, drawn_yes = replicate([table, share], resamples, seed)
    cells: dict[tuple[str, str, str, str], Cell] = {}
    for level in table.card.levels:
        if level.minus is not None or level.parts:
            continue
        value = _corrected(table, raw[level.name][None], of_yes[level.name][None], scale, shift)
        draws = _corrected(table, drawn[level.name], drawn_yes[level.name], scales, shifts)
        _fill(cells, card, level, _on_scale(table, value)[0], *_ends(table, draws))
    return Corrected(cells, found.judge)


def _fill(
    cells: dict[tuple[str, str, str, str], Cell],
    card: Scorecard,
    level: Level,
    value: Floats,
    low: Floats,
    high: Floats,
) -> None:
    for g, group in enumerate(level.groups):
        members = card.table.members(level.name, g)
        for s, system in enumerate(card.table.systems):
            for c, column in enumerate(card.table.card.columns):
                before = card.cell(system, column, group, level.name)
                there = (~np.isnan(card.table.values[s][members])).any(axis=1).sum()
                ends = (number(low[g, s, c]), number(high[g, s, c]))
                ends = ends if there >= FEWEST else (None, None)
                cells[level.name, group, system, column] = Cell(
                    number(value[g, s, c]), *ends, before.scored, before.total
                )


def _affirmed(run: Run, table: ScoreTable) -> Floats:
    """Of each sample's metrics, how much rests on references of yes, in percent."""
    found = np.full(table.values.shape, np.nan)
    metrics = [metric.name for metric in table.card.metrics]
    for at, name in enumerate(table.samples):
        weights = {metric: [0.0, 0.0] for metric in metrics}
        for question in run.probes[name]:
            if not isinstance(question, Question) or question.contract != "yes/no":
                raise CrevalError("--correct is for yes/no questions.")
            if question.reference is not None:
                weights[question.metric][0] += question.weight * (question.reference == "Yes")
                weights[question.metric][1] += question.weight
        for column, metric in enumerate(metrics):
            yes, total = weights[metric]
            if total:
                found[:, at, column] = 100 * yes / total
    return np.where(np.isnan(table.values), np.nan, found)


def _terms(
    rates: Mapping[str, Rates],
    metrics: list[str],
    draws: int | None,
    chance: np.random.Generator,
    count: int,
) -> tuple[Floats, Floats]:
    """For each draw and metric 1 / J and (specificity - 1) / J, with J = sensitivity +
    specificity - 1; axes draw, metric."""
    columns = []
    for metric in metrics:
        both = []
        for rate in (rates[metric].sensitivity, rates[metric].specificity):
            if draws is None:
                both.append(np.full(count, rate.right / rate.total))
            else:
                wrong = rate.total - rate.right
                both.append(chance.beta(rate.right + 0.5, wrong + 0.5, count))
        gain = both[0] + both[1] - 1
        if draws is None and gain[0] < _LEAST:
            raise CrevalError(
                f"--correct: in {metric} the judge's answers are hardly better than chance "
                f"(sensitivity + specificity - 1 = {gain[0]:.2f}); nothing can be corrected."
            )
        gain = np.maximum(gain, _LEAST / 2)
        columns.append((1 / gain, (both[1] - 1) / gain))
    scale, shift = (np.stack(parts, axis=-1) for parts in zip(*columns, strict=True))
    return scale, shift


def _corrected(
    table: ScoreTable, raw: Floats, of_yes: Floats, scale: Floats, shift: Floats
) -> Floats:
    """Corrected metrics, which may lie beyond the scale; axes draw, group, system, metric."""
    metrics = len(table.card.metrics)
    mean, yes = raw[..., :metrics], of_yes[..., :metrics] / 100
    scale, shift = scale[:, None, None, :], shift[:, None, None, :]
    found: Floats = scale * mean + 100 * (shift * yes + (1 - shift - scale) * (1 - yes))
    return found


def _on_scale(table: ScoreTable, metrics: Floats) -> Floats:
    """What lies beyond the scale becomes its end; with the composite."""
    return add_composite(table.card, np.clip(metrics, 0, 100))


def _ends(table: ScoreTable, draws: Floats) -> tuple[Floats, Floats]:
    """The intervals of metrics and composite. Where all draws lie beyond the scale, half of what
    they scatter by lies on it: that it is the scale's end is no more certain than other values."""
    low, high = interval(_on_scale(table, draws))
    whole = np.subtract(*interval(add_composite(table.card, draws))[::-1])
    nowhere = low == high
    low = np.where(nowhere & (low > 50), np.maximum(low - whole / 2, 0), low)
    high = np.where(nowhere & (high < 50), np.minimum(high + whole / 2, 100), high)
    return low, high
