"""What belongs together, sample by sample, and how it goes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from creval.stats.bootstrap import resampled_counts
from creval.stats.correlation import CORRELATIONS, around, fisher
from creval.stats.estimate import NOTHING, Estimate, estimate, share
from creval.stats.models import over_models
from creval.stats.people import Choice
from creval.stats.predicted import FEWEST_UNLIKE
from creval.stats.table import Floats, Integers

FEWEST_VALUES = 10
"""Values below which there is no correlation over samples."""

Estimates = Mapping[str, Estimate]
"""By correlation: pearson, spearman, kendall."""
EMPTY: Estimates = dict.fromkeys(CORRELATIONS, NOTHING)


class Strand(NamedTuple):
    """What belongs together: people's values and scores, sample by sample, of one model, or of two
    models' differences."""

    name: str
    people: Floats
    scores: Floats
    samples: Integers


class Pairs(NamedTuple):
    """Comparisons of two models' edits of a sample: what people say, from -1 to 1 or in percent
    of a scale, and by how much the scores differ."""

    first: Integers
    second: Integers
    samples: Integers
    people: Floats
    scores: Floats


def strands(people: Floats, scores: Floats, models: Sequence[str]) -> list[Strand]:
    """A strand a model, of the samples that have both; axes model, sample."""
    both = ~np.isnan(people) & ~np.isnan(scores)
    return [
        Strand(name, people[at, both[at]], scores[at, both[at]], np.flatnonzero(both[at]))
        for at, name in enumerate(models)
    ]


def strands_of_pairs(pairs: Pairs, models: Sequence[str]) -> list[Strand]:
    """A strand for every two models."""
    found = []
    for one, two in sorted(set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))):
        here = (pairs.first == one) & (pairs.second == two)
        name = f"{models[one]} / {models[two]}"
        found.append(Strand(name, pairs.people[here], pairs.scores[here], pairs.samples[here]))
    return found


def pairs_of_ratings(people: Floats, scores: Floats) -> Pairs:
    """Every two models' edits of a sample that both have ratings and scores."""
    both = ~np.isnan(people) & ~np.isnan(scores)
    one, two = np.triu_indices(len(people), 1)
    pair, sample = np.nonzero(both[one] & both[two])
    first, second = one[pair], two[pair]
    apart = [values[first, sample] - values[second, sample] for values in (people, scores)]
    return Pairs(first, second, sample, apart[0], apart[1])


def joined(several: Sequence[Pairs]) -> Pairs:
    """Comparisons put together."""
    return Pairs(*(np.concatenate([getattr(pairs, f) for pairs in several]) for f in Pairs._fields))


def pairs_of_choices(choices: Iterable[Choice], scores: Floats) -> Pairs:
    """Every two edits that people chose between: the mean of their words."""
    words: dict[tuple[int, int, int], list[float]] = {}
    for choice in choices:
        words.setdefault((choice.first, choice.second, choice.sample), []).append(choice.word)
    keys = np.array(list(words), dtype=np.int64).reshape(-1, 3)
    people = np.array([sum(said) / len(said) for said in words.values()])
    first, second, sample = keys.T
    apart = scores[first, sample] - scores[second, sample]
    here = ~np.isnan(apart)
    return Pairs(first[here], second[here], sample[here], people[here], apart[here])


@dataclass(frozen=True)
class Correlated:
    """Correlations over samples: in each strand, and their mean through Fisher's z.

    `flat` are the strands that have none, because there is too little or nothing varies.
    """

    mean: Estimates
    strands: Mapping[str, Estimates]
    flat: tuple[str, ...]


class Resamples:
    """How often each sample counts; samples of one picture are drawn together."""

    def __init__(self, units: Integers, resamples: int, seed: int) -> None:
        self._units = units
        self._resamples, self._seed = resamples, seed
        self._drawn: Floats | None = None

    def of(self, samples: Integers) -> Floats:
        """The counts of these samples; axes draw, value."""
        if self._drawn is None:
            groups = [np.arange(int(self._units.max(initial=0)) + 1)]
            chunks = list(resampled_counts(groups, self._resamples, self._seed))
            self._drawn = np.concatenate(chunks)
        return self._drawn[:, self._units[samples]]


def correlated(of: Sequence[Strand], resamples: Resamples) -> Correlated:
    """The correlations of strands, and their mean, with intervals over samples."""
    found: dict[str, Estimates] = {}
    flat: list[str] = []
    points: dict[str, list[float]] = {kind: [] for kind in CORRELATIONS}
    sums: dict[str, Floats] = {}
    most = 0
    for strand in of:
        size = len(strand.people)
        if size < FEWEST_VALUES or not all(map(_varied, (strand.people, strand.scores))):
            flat.append(strand.name)
            continue
        most = max(most, size)
        counts = resamples.of(strand.samples)
        estimates = {}
        for kind, correlation in CORRELATIONS.items():
            value = float(correlation(strand.people, strand.scores, np.ones((1, size)))[0])
            points[kind].append(value)
            draws = correlation(strand.people, strand.scores, counts)
            sums[kind] = sums.get(kind, 0.0) + fisher(draws)
            estimates[kind] = estimate(value, around(value, draws, size))
        found[strand.name] = estimates
    mean = {}
    for kind, total in sums.items():
        value = float(np.tanh(fisher(np.array(points[kind])).mean()))
        mean[kind] = estimate(value, around(value, np.tanh(total / len(found)), most))
    return Correlated(mean or EMPTY, found, tuple(flat))


def _varied(values: Floats) -> bool:
    """Whether enough differs from what is commonest for its scatter to be told."""
    _, sizes = np.unique(values, return_counts=True)
    return len(values) - int(sizes.max()) >= FEWEST_UNLIKE


def over_means(people: Floats, scores: Floats) -> Estimates:
    """The correlations over models' means, NaN where a model has none."""
    here = ~np.isnan(people) & ~np.isnan(scores)
    if here.sum() < 3:
        return EMPTY
    once = np.ones((1, int(here.sum())))
    found = {}
    for kind, correlation in CORRELATIONS.items():
        value = float(correlation(people[here], scores[here], once)[0])
        found[kind] = estimate(value, over_models(kind, value, int(here.sum())))
    return found


def accuracy(pairs: Pairs, units: Integers) -> Estimate:
    """The share of comparisons, of those that people decide, that the scores decide alike.

    Equal scores count half.
    """
    decided = np.abs(pairs.people) > 1e-9
    agree = np.sign(pairs.people[decided]) * np.sign(pairs.scores[decided])
    return share((agree + 1) / 2, units[pairs.samples[decided]])
