"""What belongs together, sample by sample, and how it goes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from creval.stats.aggregate import mean_of_present
from creval.stats.bootstrap import resampled_counts
from creval.stats.correlation import CORRELATIONS, NEARLY_ONE, around, fisher
from creval.stats.human.model_correlation import over_models
from creval.stats.human.prediction_powered import FEWEST_UNLIKE
from creval.stats.human.ratings import Choice
from creval.stats.intervals import NOTHING, Estimate, estimate, share
from creval.stats.score_table import Floats, Integers

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
    people = np.round([sum(said) / len(said) for said in words.values()], 9)
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
    """The correlations of strands, and their mean, with intervals over samples.

    Strands of one name (several raters' of one model) are averaged as they are.
    """
    alike: dict[str, list[Strand]] = {}
    for strand in of:
        alike.setdefault(strand.name, []).append(strand)
    found: dict[str, dict[str, Estimate]] = {}
    sums: dict[str, list[Floats]] = {kind: [] for kind in CORRELATIONS}
    most = 0
    for name, several in alike.items():
        usable = [strand for strand in several if _usable(strand)]
        if not usable or not _varied(usable):
            continue
        most = max(most, *(len(strand.people) for strand in usable))
        distinct = [_distinct(s, _once_and(resamples.of(s.samples))) for s in usable]
        found[name] = {}
        for kind, correlation in CORRELATIONS.items():
            each = np.stack([correlation(*values) for values in distinct])
            drawn = _telling(mean_of_present(each, 0))
            sums[kind].append(fisher(drawn))
            found[name][kind] = _estimate(drawn, len(usable[0].people))
    flat = tuple(name for name in alike if name not in found)
    if not found:
        return Correlated(EMPTY, {}, flat)
    mean = {kind: _estimate(np.tanh(np.mean(z, axis=0)), most) for kind, z in sums.items()}
    return Correlated(mean, found, flat)


def _once_and(counts: Floats) -> Floats:
    """Every value counted once, before the draws."""
    return np.concatenate([np.ones((1, counts.shape[1])), counts])


def _distinct(strand: Strand, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """A strand's pairs of values, each once, with their counts: ratings have few values."""
    pairs, place = np.unique([strand.people, strand.scores], axis=1, return_inverse=True)
    place = place.reshape(-1)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return pairs[0], pairs[1], np.add.reduceat(counts[:, order], starts, axis=1)


def _telling(drawn: Floats) -> Floats:
    """A value and its draws without those that are perfect only because hardly anything that
    varies is in them."""
    empty = (np.abs(drawn) >= NEARLY_ONE) & (np.abs(drawn[0]) < NEARLY_ONE)
    return np.where(empty, np.nan, drawn)


def _estimate(drawn: Floats, samples: int) -> Estimate:
    """From a value and the draws behind it."""
    value = float(drawn[0])
    return estimate(value, around(value, drawn[1:], samples))


def _usable(strand: Strand) -> bool:
    enough = len(strand.people) >= FEWEST_VALUES
    return enough and bool(np.ptp(strand.people) > 0 and np.ptp(strand.scores) > 0)


def _varied(several: Sequence[Strand]) -> bool:
    """Whether enough differs from what is commonest for its scatter to be told."""
    for values in zip(*((strand.people, strand.scores) for strand in several), strict=True):
        together = np.concatenate(values)
        _, sizes = np.unique(together, return_counts=True)
        if len(together) - int(sizes.max()) < FEWEST_UNLIKE:
            return False
    return True


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
