"""Bradley-Terry strengths of models from choices between two edits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from creval.stats.human.paired_series import EditComparisons
from creval.stats.intervals import Estimate, student_quantile
from creval.stats.permutation import holm_correction
from creval.stats.score_table import Floats, Integers
from creval.stats.scorecard import SIGNIFICANCE_LEVEL

ELO_PER_LOGIT = 400 / math.log(10)
"""Points of the Elo scale for each unit of log-odds: 400 points are odds of 10 to 1."""
_MIN_CLUSTERS = 5
_MAX_STEPS = 100


@dataclass(frozen=True)
class BradleyTerry:
    """Strengths of models, and the pairs (better model first) with a significant difference after Holm's correction."""

    strengths: Mapping[str, Estimate]
    decided_pairs: tuple[tuple[str, str], ...] = ()


def fit_strengths(pairs: EditComparisons, models: Sequence[str], clusters: Integers) -> BradleyTerry:
    """Return each model's strength in points of the Elo scale, with a mean of zero.

    The probability that A beats B is 1 / (1 + 10^((b - a) / 400)). A tie is half a win. The intervals are clustered
    (sandwich variance), so that several choices about one sample do not narrow them. The result is empty if the
    strengths cannot be estimated because no model of one group ever beats a model of the rest.
    """
    wins = (1 + np.clip(pairs.people, -1, 1)) / 2
    present = np.unique(np.concatenate([pairs.first, pairs.second]))
    if len(present) < 2 or not _is_strongly_connected(pairs, wins, present):
        return BradleyTerry({})
    place = {int(model): at for at, model in enumerate(present)}
    design = np.zeros((len(wins), len(present)))
    rows = np.arange(len(wins))
    design[rows, [place[int(model)] for model in pairs.first]] = 1.0
    design[rows, [place[int(model)] for model in pairs.second]] = -1.0
    strengths = _maximise_likelihood(design, wins)
    variance, count = _clustered_variance(design, wins, strengths, clusters[pairs.samples])
    names = [models[int(model)] for model in present]
    if count < _MIN_CLUSTERS:
        values = (strengths * ELO_PER_LOGIT).tolist()
        return BradleyTerry({name: Estimate(value) for name, value in zip(names, values, strict=True)})
    quantile = student_quantile(count - 1)
    found = {}
    for at, name in enumerate(names):
        value = float(strengths[at]) * ELO_PER_LOGIT
        reach = quantile * math.sqrt(max(variance[at, at], 0.0)) * ELO_PER_LOGIT
        found[name] = Estimate(value, value - reach, value + reach)
    return BradleyTerry(found, tuple(_decided_pairs(names, strengths, variance, quantile)))


def _decided_pairs(
    names: Sequence[str], strengths: Floats, variance: Floats, quantile: float
) -> Iterator[tuple[str, str]]:
    """Yield the pairs with a significant difference by Wald's test, with Holm's correction.

    The statistic is scaled so that p reaches 5 % where the interval with Student's quantile starts to exclude zero.
    """
    pairs = list(combinations(range(len(names)), 2))
    values: list[float | None] = []
    for one, two in pairs:
        spread = math.sqrt(max(variance[one, one] + variance[two, two] - 2 * variance[one, two], 0.0))
        apart = abs(float(strengths[one] - strengths[two]))
        scaled = apart / spread * student_quantile(math.inf) / quantile if spread > 0 else 0.0
        values.append(math.erfc(scaled / math.sqrt(2)))
    for (one, two), p in zip(pairs, holm_correction(values), strict=True):
        if p is not None and p <= SIGNIFICANCE_LEVEL:
            first, second = (one, two) if strengths[one] > strengths[two] else (two, one)
            yield names[first], names[second]


def _is_strongly_connected(pairs: EditComparisons, wins: Floats, present: Integers) -> bool:
    """Return whether every model has won against every other, directly or through a chain of wins."""
    size = int(present.max()) + 1
    beats: NDArray[np.bool_] = np.eye(size, dtype=np.bool_)
    beats[pairs.first[wins > 0], pairs.second[wins > 0]] = True
    beats[pairs.second[wins < 1], pairs.first[wins < 1]] = True
    for middle in range(size):
        beats |= beats[:, middle, None] & beats[None, middle, :]
    return bool(beats[np.ix_(present, present)].all())


def _maximise_likelihood(design: Floats, wins: Floats) -> Floats:
    """Return the models' log-odds strengths with a mean of zero, by Newton's method with step halving."""

    def log_likelihood(strengths: Floats) -> float:
        apart = design @ strengths
        return float((wins * apart - np.logaddexp(0.0, apart)).sum())

    strengths = np.zeros(design.shape[1])
    best = log_likelihood(strengths)
    for _ in range(_MAX_STEPS):
        expected = 1 / (1 + np.exp(-(design @ strengths)))
        gradient = design.T @ (wins - expected)
        if np.abs(gradient).max() < 1e-10:
            break
        step = np.linalg.pinv(_information(design, expected), hermitian=True) @ gradient
        while (reached := log_likelihood(strengths + step)) < best and np.abs(step).max() > 1e-12:
            step = step / 2
        strengths, best = strengths + step, max(best, reached)
    centred: Floats = strengths - strengths.mean()
    return centred


def _information(design: Floats, expected: Floats) -> Floats:
    found: Floats = (design * (expected * (1 - expected))[:, None]).T @ design
    return found


def _clustered_variance(design: Floats, wins: Floats, strengths: Floats, clusters: Integers) -> tuple[Floats, int]:
    """Return the covariance of the strengths, and the number of clusters."""
    expected = 1 / (1 + np.exp(-(design @ strengths)))
    scores = design * (wins - expected)[:, None]
    units, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(units), design.shape[1]))
    np.add.at(sums, place.reshape(-1), scores)
    inverse = np.linalg.pinv(_information(design, expected), hermitian=True)
    correction = len(units) / max(len(units) - 1, 1)
    variance: Floats = inverse @ (sums.T @ sums) @ inverse * correction
    return variance, len(units)
