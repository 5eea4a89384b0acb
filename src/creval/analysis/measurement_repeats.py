"""Variation of scores over repeats, and the number of repeats needed for a given error.

As in Complex-Edit: a sample's score is the mean of K measurements. Its variation is half the range of
four such means over 4K distinct measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.benchmarks import protocol_of_run
from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.stats.score_table import Floats
from creval.store.run import METRIC_VOICE_PREFIX, Run

COMPARED_MEANS = 4
_DRAWS = 50  # ways of choosing the measurements
_HALF_RANGE = 1.0293753730039641  # expected half range of four normal values, in standard deviations
_MAX_REPEATS = 100_000


@dataclass(frozen=True)
class RepeatVariation:
    """Variation of the mean of K measurements, by metric.

    `values` are the measurements; axes edit, repeat; NaN is missing. `observed` has the variation for some numbers K
    for which edits have 4K measurements. `standard_deviation` is that of one measurement, averaged over edits. From
    it, the variation for every other K is computed.
    """

    values: Mapping[str, Floats]
    observed: Mapping[str, Mapping[int, float]]
    standard_deviation: Mapping[str, float]

    def variation(self, metric: str, count: int) -> float:
        """Return the variation of a mean of `count` measurements: observed, or computed from the standard deviation."""
        if count in self.observed[metric]:
            return self.observed[metric][count]
        return _HALF_RANGE * self.standard_deviation[metric] / math.sqrt(count)

    def repeats_needed(self, metric: str, max_error: float) -> int | None:
        """Return the fewest measurements whose mean varies by at most `max_error`; None if too many are needed."""
        for count, variation in sorted(self.observed[metric].items()):
            if variation <= max_error:
                return count
        if max_error <= 0:
            return None
        found = math.ceil((_HALF_RANGE * self.standard_deviation[metric] / max_error) ** 2)
        count = max(found, max(self.observed[metric], default=0) + 1)
        return count if count <= _MAX_REPEATS else None


def measure_repeat_variation(run: Run, seed: int = 0) -> RepeatVariation:
    """Compute the variation of a run's scores over its repeats."""
    values = _scores_by_repeat(run)
    most = max((array.shape[1] for array in values.values()), default=0)
    if most < 2:
        raise CrevalError(
            "every judge was asked only once about each edit, so the variation is unknown: "
            "use `creval judge` with `repeat` to ask several times."
        )
    observed = {
        metric: {count: observed_variation(array, count, seed) for count in _observable_counts(array)}
        for metric, array in values.items()
    }
    deviation = {}
    for metric, array in values.items():
        times = (~np.isnan(array)).sum(axis=1)
        several, times = array[times > 1], times[times > 1]
        spread = np.nanstd(several, axis=1, ddof=1) / [_small_sample_bias(n) for n in times.tolist()]
        deviation[metric] = float(spread.mean()) if len(several) else 0.0
    return RepeatVariation(values, observed, deviation)


def _small_sample_bias(times: int) -> float:
    """Return the expected ratio of the sample standard deviation of `times` normal values to the true one.

    >>> round(_small_sample_bias(2), 4)
    0.7979
    """
    logs = math.lgamma(times / 2) - math.lgamma((times - 1) / 2)
    return math.sqrt(2 / (times - 1)) * math.exp(logs)


def _observable_counts(array: Floats) -> list[int]:
    """Return numbers K for which some edits have 4K measurements: up to 10 all, then multiples of 5 and the largest."""
    most = int((~np.isnan(array)).sum(axis=1).max(initial=0)) // COMPARED_MEANS
    return [n for n in range(1, most + 1) if n <= 10 or n % 5 == 0 or n == most]


def observed_variation(array: Floats, count: int, seed: int = 0) -> float:
    """Return half the range of four means over distinct measurements, averaged over edits."""
    chance = np.random.default_rng(seed)
    enough = array[(~np.isnan(array)).sum(axis=1) >= COMPARED_MEANS * count]
    found = []
    for _ in range(_DRAWS):
        order = chance.random(enough.shape)
        order[np.isnan(enough)] = 2.0  # missing values come last
        chosen = np.argsort(order, axis=1)[:, : COMPARED_MEANS * count]
        taken = np.take_along_axis(enough, chosen, axis=1)
        means = taken.reshape(len(enough), COMPARED_MEANS, count).mean(axis=2)
        found.append((means.max(axis=1) - means.min(axis=1)).mean() / 2)
    return float(np.mean(found))


def _scores_by_repeat(run: Run) -> dict[str, Floats]:
    """Return the scores by metric; the axes are pairs of judge and edit, and repeats."""
    protocol = protocol_of_run(run.manifest)
    answers: dict[tuple[str, EditKey], dict[int, dict[str, float | None]]] = {}
    for judge, repeat, edit, probe, value in run.verdicts_by_voice():
        if not judge.startswith(METRIC_VOICE_PREFIX):
            answers.setdefault((judge, edit), {}).setdefault(repeat, {})[probe] = value
    voices = sorted({repeat for several in answers.values() for repeat in several})
    metrics = [metric.name for metric in protocol.schema.metrics]
    found = {metric: np.full((len(answers), len(voices)), np.nan) for metric in metrics}
    for row, ((_, edit), several) in enumerate(answers.items()):
        sample, probes = run.samples[edit.sample], run.probes[edit.sample]
        for column, voice in enumerate(voices):
            if voice in several:
                scores = protocol.score(sample, probes, several[voice])
                for metric in metrics:
                    value = scores[metric].value
                    found[metric][row, column] = np.nan if value is None else value
    return {metric: array for metric, array in found.items() if not np.isnan(array).all()}
