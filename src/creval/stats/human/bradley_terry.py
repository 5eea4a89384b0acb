"""Bradley-Terry strengths of models from choices between two edits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from creval.stats.human.paired_series import EditComparisons
from creval.stats.intervals import Estimate, student_quantile
from creval.stats.score_table import Floats, Integers

ELO_PER_LOGIT = 400 / math.log(10)
"""Points of the Elo scale for each unit of log-odds: 400 points are odds of 10 to 1."""
_MIN_CLUSTERS = 5
_MAX_STEPS = 100


def fit_strengths(pairs: EditComparisons, models: Sequence[str], clusters: Integers) -> dict[str, Estimate]:
    """Return each model's strength in points of the Elo scale, with a mean of zero.

    The probability that A beats B is 1 / (1 + 10^((b - a) / 400)). A tie is half a win. The intervals are clustered
    (sandwich variance), so that several choices about one sample do not narrow them. The result is empty if the
    strengths cannot be estimated: the models fall into two groups, of which one never beats the other.
    """
    wins = (1 + np.clip(pairs.people, -1, 1)) / 2
    present = np.unique(np.concatenate([pairs.first, pairs.second]))
    if len(present) < 2 or not _is_strongly_connected(pairs, wins, present):
        return {}
    place = {int(model): at for at, model in enumerate(present)}
    design = np.zeros((len(wins), len(present)))
    rows = np.arange(len(wins))
    design[rows, [place[int(model)] for model in pairs.first]] = 1.0
    design[rows, [place[int(model)] for model in pairs.second]] = -1.0
    strengths = _maximise_likelihood(design, wins)
    errors, count = _clustered_errors(design, wins, strengths, clusters[pairs.samples])
    found = {}
    for at, model in enumerate(present):
        value = float(strengths[at]) * ELO_PER_LOGIT
        reach = student_quantile(count - 1) * float(errors[at]) * ELO_PER_LOGIT if count >= _MIN_CLUSTERS else None
        ends = (None, None) if reach is None else (value - reach, value + reach)
        found[models[int(model)]] = Estimate(value, *ends)
    return found


def _is_strongly_connected(pairs: EditComparisons, wins: Floats, present: Integers) -> bool:
    """Return whether every model has won, directly or through others, against every other."""
    size = int(present.max()) + 1
    beats: NDArray[np.bool_] = np.eye(size, dtype=np.bool_)
    beats[pairs.first[wins > 0], pairs.second[wins > 0]] = True
    beats[pairs.second[wins < 1], pairs.first[wins < 1]] = True
    for middle in range(size):
        beats |= beats[:, middle, None] & beats[None, middle, :]
    return bool(beats[np.ix_(present, present)].all())


def _maximise_likelihood(design: Floats, wins: Floats) -> Floats:
    """Return log-odds with a mean of zero, by Newton's method with step halving."""

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


def _clustered_errors(design: Floats, wins: Floats, strengths: Floats, clusters: Integers) -> tuple[Floats, int]:
    """Return standard errors of the strengths, and the number of clusters."""
    expected = 1 / (1 + np.exp(-(design @ strengths)))
    scores = design * (wins - expected)[:, None]
    units, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(units), design.shape[1]))
    np.add.at(sums, place.reshape(-1), scores)
    inverse = np.linalg.pinv(_information(design, expected), hermitian=True)
    correction = len(units) / max(len(units) - 1, 1)
    variance = inverse @ (sums.T @ sums) @ inverse * correction
    return np.sqrt(np.maximum(np.diag(variance), 0.0)), len(units)
