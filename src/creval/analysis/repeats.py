"""How much a score varies when it is measured again, and how often one has to measure.

After Complex-Edit: a sample's score is the mean of K measurements; four such means, over 4K
distinct measurements, lie so far apart, and half of that is its variation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.benchmarks import protocol_named
from creval.core.edit import EditKey
from creval.core.errors import CrevalError
from creval.stats.score_table import Floats
from creval.store.run import VOICE, Run

MEANS = 4
_DRAWS = 50  # ways of choosing the measurements
_HALF_RANGE = 1.0293753730039641  # of four normal values, in standard deviations
_MOST = 100_000


@dataclass(frozen=True)
class Repeats:
    """A run's measurements by metric; axes edit, repeat; NaN is none.

    `observed` are variations by metric and K, as far as there are 4K measurements; `deviation` is
    the mean over edits of the standard deviation of one measurement, from which others follow.
    """

    values: Mapping[str, Floats]
    observed: Mapping[str, Mapping[int, float]]
    deviation: Mapping[str, float]

    def variation(self, metric: str, count: int) -> float:
        """The variation of a mean of so many measurements: as observed, or as it follows."""
        if count in self.observed[metric]:
            return self.observed[metric][count]
        return _HALF_RANGE * self.deviation[metric] / math.sqrt(count)

    def needed(self, metric: str, error: float) -> int | None:
        """The fewest measurements whose mean varies by no more than an error, if that can be."""
        for count, variation in sorted(self.observed[metric].items()):
            if variation <= error:
                return count
        if error <= 0:
            return None
        found = math.ceil((_HALF_RANGE * self.deviation[metric] / error) ** 2)
        count = max(found, max(self.observed[metric], default=0) + 1)
        return count if count <= _MOST else None


def repeats(run: Run, seed: int = 0) -> Repeats:
    """What a run's repeats say about its measurements."""
    values = _measured(run)
    most = max((array.shape[1] for array in values.values()), default=0)
    if most < 2:
        raise CrevalError(
            "everything was measured once, so nothing is known about how it varies: "
            "creval judge --repeat K asks K times."
        )
    observed = {
        metric: {count: variation(array, count, seed) for count in _counts(array)}
        for metric, array in values.items()
    }
    deviation = {}
    for metric, array in values.items():
        times = (~np.isnan(array)).sum(axis=1)
        several, times = array[times > 1], times[times > 1]
        spread = np.nanstd(several, axis=1, ddof=1) / [_shrunk(n) for n in times.tolist()]
        deviation[metric] = float(spread.mean()) if len(several) else 0.0
    return Repeats(values, observed, deviation)


def _shrunk(times: int) -> float:
    """How much smaller than the truth the standard deviation of so few normal values is on
    average.

    >>> round(_shrunk(2), 4)
    0.7979
    """
    logs = math.lgamma(times / 2) - math.lgamma((times - 1) / 2)
    return math.sqrt(2 / (times - 1)) * math.exp(logs)


def _counts(array: Floats) -> list[int]:
    """The numbers of measurements for which four means can be had of some edits."""
    most = int((~np.isnan(array)).sum(axis=1).max(initial=0)) // MEANS
    return [n for n in range(1, most + 1) if n <= 10 or n % 5 == 0 or n == most]


def variation(array: Floats, count: int, seed: int = 0) -> float:
    """The mean over edits of half the range of four means over distinct measurements."""
    chance = np.random.default_rng(seed)
    enough = array[(~np.isnan(array)).sum(axis=1) >= MEANS * count]
    found = []
    for _ in range(_DRAWS):
        order = chance.random(enough.shape)
        order[np.isnan(enough)] = 2.0  # what is not there comes last
        chosen = np.argsort(order, axis=1)[:, : MEANS * count]
        taken = np.take_along_axis(enough, chosen, axis=1)
        means = taken.reshape(len(enough), MEANS, count).mean(axis=2)
        found.append((means.max(axis=1) - means.min(axis=1)).mean() / 2)
    return float(np.mean(found))


def _measured(run: Run) -> dict[str, Floats]:
    """The scores in each repeat, by what each judge said of each edit."""
    protocol = protocol_named(run.manifest["protocol"])
    answers: dict[tuple[str, EditKey], dict[int, dict[str, float | None]]] = {}
    for judge, repeat, edit, probe, value in run.spoken():
        if not judge.startswith(VOICE):
            answers.setdefault((judge, edit), {}).setdefault(repeat, {})[probe] = value
    voices = sorted({repeat for several in answers.values() for repeat in several})
    metrics = [metric.name for metric in protocol.card.metrics]
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
