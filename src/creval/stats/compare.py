"""Two systems side by side: by how much they differ, where, and on which questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creval.benchmarks import protocol_named
from creval.core.probe import Question
from creval.stats.bootstrap import interval, replicate
from creval.stats.scorecard import Difference, number, points
from creval.stats.table import ScoreTable, tabulate

if TYPE_CHECKING:
    from creval.store.run import Answer, Run


@dataclass(frozen=True)
class QuestionGap:
    """A question that one system passes and the other fails."""

    question: Question
    winner: str
    answers: tuple[Answer, Answer]


@dataclass(frozen=True)
class SampleGap:
    """A sample's scores by column for both systems, and the questions that tell them apart."""

    sample: str
    instruction: str
    first: Mapping[str, float]
    second: Mapping[str, float]
    questions: tuple[QuestionGap, ...]


@dataclass(frozen=True)
class Comparison:
    """`first` minus `second`, for each level, group and column, and where it is largest."""

    table: ScoreTable
    differences: Mapping[tuple[str, str, str], Difference]
    samples: tuple[SampleGap, ...]


def compare(
    run: Run,
    first: str,
    second: str,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Mapping[str, float] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    top: int = 5,
) -> Comparison:
    """Compare two systems on the samples that both have, and show the `top` largest gaps."""
    table = tabulate(run, strict=strict, subset=subset, weights=weights)
    pair = table.pairs([(first, second)])
    (drawn,) = replicate([pair], resamples, seed)
    there = points(pair)
    differences = {}
    for level in pair.card.levels:
        low, high = interval(drawn[level.name][:, :, 0] - drawn[level.name][:, :, 1])
        value = there[level.name][:, 0] - there[level.name][:, 1]
        for g, group in enumerate(level.groups):
            here = pair.members(level.name, g)
            for c, column in enumerate(pair.card.columns):
                samples = _samples(pair, here, c)
                ends = (number(low[g, c]), number(high[g, c])) if samples > 1 else (None, None)
                found = Difference(first, second, number(value[g, c]), *ends, samples)
                differences[level.name, group, column] = found
    return Comparison(pair, differences, tuple(_gaps(run, pair, strict, top)))


def _samples(pair: ScoreTable, members: NDArray[np.bool_], c: int) -> int:
    here = ~np.isnan(pair.values[0][members])
    return int((here[:, c] if c < here.shape[1] else here.any(axis=1)).sum())


def _gaps(run: Run, pair: ScoreTable, strict: bool, top: int) -> list[SampleGap]:
    columns = pair.with_composite()
    gap = np.nan_to_num(np.abs(columns[0, :, -1] - columns[1, :, -1]))
    names = pair.card.columns
    found = []
    for at in np.argsort(-gap, kind="stable")[:top]:
        if gap[at] == 0:
            break
        sample = pair.samples[at]
        first, second = (dict(zip(names, map(float, columns[n, at]), strict=True)) for n in (0, 1))
        questions = _question_gaps(run, pair, sample, strict)
        instruction = run.samples[sample].instruction
        found.append(SampleGap(sample, instruction, first, second, tuple(questions)))
    return found


def _question_gaps(run: Run, pair: ScoreTable, sample: str, strict: bool) -> list[QuestionGap]:
    """The questions that decide the sample, those that weigh most first."""
    protocol = protocol_named(run.manifest["protocol"])
    first, second = ({a.probe: a for a in run.answers(name, sample)} for name in pair.systems)
    gaps = []
    for probe in run.probes[sample]:
        if probe.id not in first or probe.id not in second or not isinstance(probe, Question):
            continue
        answers = (first[probe.id], second[probe.id])
        values = [
            protocol.score([probe], {probe.id: answer.value}, strict=strict)[probe.metric].value
            for answer in answers
        ]
        if values[0] is not None and values[1] is not None and values[0] != values[1]:
            winner = pair.systems[int(values[1] > values[0])]
            gaps.append(QuestionGap(probe, winner, answers))
    share = dict.fromkeys(pair.card.composite.weights, 0.0)
    for probe in run.probes[sample]:
        if isinstance(probe, Question):
            share[probe.metric] = share.get(probe.metric, 0.0) + probe.weight
    weights = pair.card.composite.weights
    gaps.sort(
        key=lambda gap: (
            gap.question.weight * weights.get(gap.question.metric, 0.0) / share[gap.question.metric]
        ),
        reverse=True,
    )
    return gaps
