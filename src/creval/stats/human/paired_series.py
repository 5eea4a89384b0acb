"""Paired series of human ratings and metric scores (by model or model pair), and their correlations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.stats.aggregate import nan_mean
from creval.stats.bootstrap import resample_counts
from creval.stats.correlation import CORRELATIONS, PERFECT_CORRELATION, correlation_interval, fisher_z, sum_columns
from creval.stats.human.model_correlation import interval_over_models
from creval.stats.human.prediction_powered import MIN_DEVIATING_RATINGS
from creval.stats.human.ratings import Preference
from creval.stats.intervals import NO_ESTIMATE, Estimate, clustered_proportion, make_estimate
from creval.stats.score_table import Floats, Integers

MIN_VALUES = 10
"""Fewest values for a correlation over samples."""

CorrelationEstimates = Mapping[str, Estimate]
"""By correlation: pearson, spearman, kendall."""
NO_CORRELATIONS: CorrelationEstimates = dict.fromkeys(CORRELATIONS, NO_ESTIMATE)


class PairedSeries(NamedTuple):
    """Human ratings and scores of a model's samples, or their differences between two models."""

    name: str
    people: Floats
    scores: Floats
    samples: Integers


class EditComparisons(NamedTuple):
    """Comparisons of two edits of a sample.

    `people` are preferences from -1 to 1, or differences of ratings in percent. `scores` are differences
    of scores.
    """

    first: Integers
    second: Integers
    samples: Integers
    people: Floats
    scores: Floats


def series_by_model(people: Floats, scores: Floats, models: Sequence[str]) -> list[PairedSeries]:
    """Return a series for each model, of the samples with a rating and a score.

    Both arrays have the axes model, sample.
    """
    both = ~np.isnan(people) & ~np.isnan(scores)
    return [
        PairedSeries(name, people[at, both[at]], scores[at, both[at]], np.flatnonzero(both[at]))
        for at, name in enumerate(models)
    ]


def series_by_model_pair(pairs: EditComparisons, models: Sequence[str]) -> list[PairedSeries]:
    """Return a series for each pair of models."""
    return [
        PairedSeries(f"{models[one]} / {models[two]}", pairs.people[here], pairs.scores[here], pairs.samples[here])
        for one, two, here in split_by_models(pairs)
    ]


def split_by_models(pairs: EditComparisons) -> Iterator[tuple[int, int, NDArray[np.bool_]]]:
    """Yield each pair of models that are compared, with a mask that selects their comparisons."""
    for one, two in sorted(set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))):
        yield one, two, (pairs.first == one) & (pairs.second == two)


def comparisons_from_ratings(people: Floats, scores: Floats) -> EditComparisons:
    """Compare the edits of each pair of models, on the samples where both have ratings and scores."""
    both = ~np.isnan(people) & ~np.isnan(scores)
    one, two = np.triu_indices(len(people), 1)
    pair, sample = np.nonzero(both[one] & both[two])
    first, second = one[pair], two[pair]
    apart = [values[first, sample] - values[second, sample] for values in (people, scores)]
    return EditComparisons(first, second, sample, apart[0], apart[1])


def concat_comparisons(several: Sequence[EditComparisons]) -> EditComparisons:
    """Concatenate comparisons."""
    return EditComparisons(*(np.concatenate([getattr(pairs, f) for pairs in several]) for f in EditComparisons._fields))


def comparisons_from_preferences(preferences: Iterable[Preference], scores: Floats) -> EditComparisons:
    """Return people's comparisons of two edits, with the mean preference over raters."""
    values: dict[tuple[int, int, int], list[float]] = {}
    for choice in preferences:
        values.setdefault((choice.first, choice.second, choice.sample), []).append(choice.value)
    keys = np.array(list(values), dtype=np.int64).reshape(-1, 3)
    people = np.round([sum(of_pair) / len(of_pair) for of_pair in values.values()], 9)
    first, second, sample = keys.T
    apart = scores[first, sample] - scores[second, sample]
    here = ~np.isnan(apart)
    return EditComparisons(first[here], second[here], sample[here], people[here], apart[here])


@dataclass(frozen=True)
class SeriesCorrelations:
    """Correlations by series, and their mean by Fisher's z. `skipped` are the series with too little variation.

    `ranked` has Fisher's z of each series' rank correlation: the estimate, then that of each resample.
    """

    mean: CorrelationEstimates
    by_series: Mapping[str, CorrelationEstimates]
    skipped: tuple[str, ...]
    ranked: Mapping[str, Floats] = field(default_factory=dict, repr=False, compare=False)


class ClusterResamples:
    """Resamples of clusters: samples of one image are drawn together."""

    def __init__(self, clusters: Integers, resamples: int, seed: int) -> None:
        self._clusters = clusters
        self._resamples, self._seed = resamples, seed
        self._counts: Floats | None = None

    def counts_for(self, samples: Integers) -> Floats:
        """Return how often each of these samples was drawn; axes draw, sample."""
        if self._counts is None:
            groups = [np.arange(int(self._clusters.max(initial=0)) + 1)]
            chunks = list(resample_counts(groups, self._resamples, self._seed))
            self._counts = np.concatenate(chunks)
        return self._counts[:, self._clusters[samples]]


def correlate_series(series: Sequence[PairedSeries], resamples: ClusterResamples) -> SeriesCorrelations:
    """Correlate series, with intervals over samples.

    The correlations of series with the same name (a model's raters) are averaged.
    """
    alike: dict[str, list[PairedSeries]] = {}
    for one in series:
        alike.setdefault(one.name, []).append(one)
    found: dict[str, dict[str, Estimate]] = {}
    sums: dict[str, list[Floats]] = {kind: [] for kind in CORRELATIONS}
    most = 0
    for name, several in alike.items():
        usable = [one for one in several if _is_usable(one)]
        if not usable or not _has_variation(usable):
            continue
        most = max(most, *(len(one.people) for one in usable))
        distinct = [_distinct_values(one, resamples.counts_for(one.samples)) for one in usable]
        found[name] = {}
        for kind, correlation in CORRELATIONS.items():
            each = np.stack([correlation(*values) for values in distinct])
            drawn = _drop_degenerate_draws(nan_mean(each, 0))
            sums[kind].append(fisher_z(drawn))
            found[name][kind] = _estimate_from_draws(drawn, len(usable[0].people))
    flat = tuple(name for name in alike if name not in found)
    if not found:
        return SeriesCorrelations(NO_CORRELATIONS, {}, flat)
    mean = {kind: _estimate_from_draws(np.tanh(np.mean(z, axis=0)), most) for kind, z in sums.items()}
    return SeriesCorrelations(mean, found, flat, dict(zip(found, sums["spearman"], strict=True)))


def _distinct_values(series: PairedSeries, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct pairs of values, and their counts in the data and in each draw. For ratings they are few."""
    counts = np.concatenate([np.ones((1, counts.shape[1])), counts])
    pairs, place = np.unique([series.people, series.scores], axis=1, return_inverse=True)
    return pairs[0], pairs[1], sum_columns(counts, place.reshape(-1))


def _drop_degenerate_draws(drawn: Floats) -> Floats:
    """Replace a draw by NaN if it is perfectly correlated only because few distinct values were drawn.

    The first entry is the estimate itself.
    """
    empty = (np.abs(drawn) >= PERFECT_CORRELATION) & (np.abs(drawn[0]) < PERFECT_CORRELATION)
    return np.where(empty, np.nan, drawn)


def _estimate_from_draws(drawn: Floats, samples: int) -> Estimate:
    """Return an estimate from an array that has the value first, then its draws."""
    value = float(drawn[0])
    return make_estimate(value, correlation_interval(value, drawn[1:], samples))


def _is_usable(series: PairedSeries) -> bool:
    enough = len(series.people) >= MIN_VALUES
    return enough and bool(np.ptp(series.people) > 0 and np.ptp(series.scores) > 0)


def _has_variation(several: Sequence[PairedSeries]) -> bool:
    """Return whether enough values differ from the most common one to estimate their variance."""
    for values in zip(*((one.people, one.scores) for one in several), strict=True):
        together = np.concatenate(values)
        _, sizes = np.unique(together, return_counts=True)
        if len(together) - int(sizes.max()) < MIN_DEVIATING_RATINGS:
            return False
    return True


def correlate_means(people: Floats, scores: Floats) -> CorrelationEstimates:
    """Return the correlations over models' means. Models with a NaN are left out."""
    here = ~np.isnan(people) & ~np.isnan(scores)
    if here.sum() < 3:
        return NO_CORRELATIONS
    once = np.ones((1, int(here.sum())))
    found = {}
    for kind, correlation in CORRELATIONS.items():
        value = float(correlation(people[here], scores[here], once)[0])
        found[kind] = make_estimate(value, interval_over_models(kind, value, int(here.sum())))
    return found


def pairwise_accuracy(pairs: EditComparisons, clusters: Integers) -> Estimate:
    """Return the share of comparisons decided by people in which the scores agree. Equal scores count half."""
    decided = np.abs(pairs.people) > 1e-9
    agree = np.sign(pairs.people[decided]) * np.sign(pairs.scores[decided])
    return clustered_proportion((agree + 1) / 2, clusters[pairs.samples[decided]])
