"""Comparison of automatic scores with human ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating
from creval.stats.aggregate import divide, nan_mean
from creval.stats.bootstrap import percentile_interval
from creval.stats.human.paired_series import (
    ClusterResamples,
    CorrelationEstimates,
    EditComparisons,
    SeriesCorrelations,
    comparisons_from_preferences,
    comparisons_from_ratings,
    correlate_means,
    correlate_series,
    pairwise_accuracy,
    series_by_model,
    series_by_model_pair,
)
from creval.stats.human.prediction_powered import PredictedMean, predict_mean_rating
from creval.stats.human.rater_ceiling import RaterCeiling, compute_rater_ceiling
from creval.stats.human.ratings import (
    HumanScores,
    MetricScores,
    UnmatchedRatings,
    average_over_samples,
    collect_human_scores,
    with_means,
)
from creval.stats.human.weight_fit import FittedWeights, fit_weights
from creval.stats.intervals import Estimate, clustered_proportion, make_estimate
from creval.stats.permutation import holm_correction
from creval.stats.score_table import Floats

_EQUAL = 1e-9  # tolerance for equal correlations


@dataclass(frozen=True)
class MetricAlignment:
    """Agreement of one automatic metric with one kind of human rating.

    `over_models` correlates models' means. `over_samples` is the mean over models of the correlation over a model's
    samples. For preferences, it is the mean over pairs of models of the correlation with the difference of scores.
    `accuracy` is the share of comparisons decided by people in which the edit that they prefer has the better score.
    """

    metric: str
    over_models: CorrelationEstimates
    over_samples: SeriesCorrelations
    accuracy: Estimate
    model_count: int
    value_count: int


class MetricDifference(NamedTuple):
    """Difference between the rank correlations of two metrics with people (over samples, averaged).

    The interval and `p` (with Holm's correction) use the same resamples for both metrics.
    """

    first: str
    second: str
    spearman: Estimate
    p: float | None


class WinRate(NamedTuple):
    """Share of comparisons won, according to people and according to the scores. Ties count half."""

    people: Estimate
    scores: Estimate


@dataclass(frozen=True)
class RatingAlignment:
    """One kind of human rating and the metrics compared with it.

    `main_metric` is the metric that corresponds to this rating. Its scores are used for the `predictions` of the mean
    human rating of all edits, and for the shares of comparisons won: by model (`model_wins`), and by the first model
    of each pair (`pair_wins`).
    """

    metric: str
    main_metric: str
    rater_count: int
    value_count: int
    is_preference: bool
    metric_alignments: tuple[MetricAlignment, ...]
    ceiling: RaterCeiling | None
    predictions: tuple[PredictedMean, ...]
    model_wins: Mapping[str, WinRate]
    pair_wins: Mapping[str, WinRate]
    weights: FittedWeights | None
    differences: tuple[MetricDifference, ...] = ()


@dataclass(frozen=True)
class Alignment:
    """Comparison of all kinds of human ratings with the scores."""

    scores: MetricScores
    rating_alignments: tuple[RatingAlignment, ...]
    unmatched: UnmatchedRatings


def align(ratings: Sequence[Rating], scores: MetricScores, *, resamples: int = 2_000, seed: int = 0) -> Alignment:
    """Compare scores with human ratings.

    - Ratings are compared with the metric of the same name or, if there is none, with every metric.
    - Ratings of whole models (without a sample) are compared with models' means.
    - If scores without a composite have two or more metrics with ratings of the same name (such as SC and PQ), ratings
      of any other name (such as overall) are also compared with the arithmetic and the geometric mean of these metrics.
    """
    if "" not in scores.samples and not any(edit.sample for r in ratings for edit in r.edits):
        scores = average_over_samples(scores)
    found, unmatched = collect_human_scores(ratings, scores)
    if not found:
        raise CrevalError(
            "ratings and scores have no model and sample in common. Scored models: "
            f"{', '.join(scores.models[:5])}. A scored sample: {scores.samples[0]!r}."
        )
    named = [word.metric for word in found if word.metric in scores.metrics]
    if len(scores.weights) < 2 and 2 <= len(named) < len(found):
        scores = with_means(scores, named)
    drawn = ClusterResamples(scores.clusters, resamples, seed)
    return Alignment(scores, tuple(_align_rating(word, scores, drawn) for word in found), unmatched)


def _align_rating(human_scores: HumanScores, scores: MetricScores, resamples: ClusterResamples) -> RatingAlignment:
    names = scores.candidates(human_scores.metric)
    main = names[0] if scores.main_metric not in names else scores.main_metric
    same = names == (human_scores.metric,)
    parts = [] if same or len(scores.weights) < 2 else list(scores.weights)
    held = tuple(align_metric(human_scores, name, scores, resamples) for name in names)
    wins, over = win_rates(human_scores, main, scores) if human_scores.is_preference else ({}, {})
    return RatingAlignment(
        metric=human_scores.metric,
        main_metric=main,
        rater_count=len(human_scores.raters),
        value_count=len(human_scores.preferences) or int((~np.isnan(human_scores.ratings)).sum()),
        is_preference=human_scores.is_preference,
        metric_alignments=held,
        ceiling=compute_rater_ceiling(human_scores, scores, resamples) if len(human_scores.raters) > 1 else None,
        predictions=() if human_scores.is_preference else tuple(_predict_means(human_scores, main, scores)),
        model_wins=wins,
        pair_wins=over,
        weights=fit_weights(human_scores, parts, scores, resamples) if parts else None,
        differences=compare_metrics(held) if scores.columns else (),
    )


def _predict_means(human_scores: HumanScores, metric: str, scores: MetricScores) -> list[PredictedMean]:
    """Predict the mean human rating of each model's edits that have a score."""
    people, values = human_scores.mean_over_raters(), scores.oriented_values(metric)
    found = []
    for at, name in enumerate(scores.models):
        here = ~np.isnan(values[at])
        if len(scores.samples) > 1 and (here & ~np.isnan(people[at])).any():
            found.append(predict_mean_rating(name, people[at, here], values[at, here], scores.clusters[here]))
    return found


def align_metric(
    human_scores: HumanScores, metric: str, scores: MetricScores, resamples: ClusterResamples
) -> MetricAlignment:
    """Compare a metric with one kind of human rating."""
    values = scores.oriented_values(metric)
    if human_scores.is_preference:
        pairs = comparisons_from_preferences(human_scores.preferences, values)
        found = series_by_model_pair(pairs, scores.models)
        model = correlate_means(win_shares(pairs.people, pairs, len(values)), _compared_means(pairs, values))
        models, size = len(set(pairs.first) | set(pairs.second)), len(pairs.people)
    else:
        people = human_scores.mean_over_raters()
        pairs = comparisons_from_ratings(people, values)
        found = series_by_model(people, values, scores.models)
        both = ~np.isnan(people) & ~np.isnan(values)
        means = (nan_mean(np.where(both, of, np.nan), 1) for of in (people, values))
        model = correlate_means(*means)
        models, size = int(both.any(axis=1).sum()), int(both.sum())
    sample = correlate_series(found, resamples)
    decided = pairwise_accuracy(pairs, scores.clusters)
    return MetricAlignment(metric, model, sample, decided, models, size)


def compare_metrics(aligned: Sequence[MetricAlignment]) -> tuple[MetricDifference, ...]:
    """Compare the rank correlations of each pair of metrics, over the series (models or their pairs) that both have."""
    found: list[MetricDifference] = []
    for one, two in combinations(aligned, 2):
        common = sorted(set(one.over_samples.ranked) & set(two.over_samples.ranked))
        if not common:
            continue
        drawn = [np.tanh(np.mean([of.over_samples.ranked[name] for name in common], axis=0)) for of in (one, two)]
        apart = drawn[0] - drawn[1]
        there = apart[1:][~np.isnan(apart[1:])]
        low, high = percentile_interval(apart[1:])
        p = None
        if 2 * len(there) >= len(apart[1:]):
            sides = ((there <= 0).sum(), (there >= 0).sum())
            p = min(1.0, 2 * (1 + int(min(sides))) / (1 + len(there)))
        spearman = make_estimate(float(apart[0]), (float(low), float(high)))
        found.append(MetricDifference(one.metric, two.metric, spearman, p))
    corrected = holm_correction([one.p for one in found])
    return tuple(one._replace(p=p) for one, p in zip(found, corrected, strict=True))


def indistinguishable_from_best(aligned: Sequence[MetricAlignment]) -> list[str]:
    """Return the metric that correlates best with people, and the metrics that are not significantly worse.

    Compares mean rank correlations over the series that all metrics have, by paired resamples. If there are no such
    series, compares correlations over models: a metric is worse if its interval is below that of the best one.
    """
    common = set.intersection(*(set(one.over_samples.by_series) for one in aligned)) if aligned else set()
    if common:
        means = [np.mean([one.over_samples.ranked[name] for name in sorted(common)], axis=0) for one in aligned]
        best = max(range(len(aligned)), key=lambda at: float(means[at][0]))
        beaten = [float(percentile_interval(means[best][1:] - mean[1:])[0]) > _EQUAL for mean in means]
    else:
        found = [one.over_models["spearman"] for one in aligned]
        values = [-np.inf if one.value is None else one.value for one in found]
        best = int(np.argmax(values))
        low = found[best].low
        beaten = [low is not None and one.high is not None and low > one.high for one in found]
    return [one.metric for at, one in enumerate(aligned) if at == best or not beaten[at]]


def win_shares(preferences: Floats, pairs: EditComparisons, models: int) -> Floats:
    """Return, for each model, the share of its comparisons that it wins. Ties count half. NaN without comparisons."""
    won, of = np.zeros(models), np.zeros(models)
    half = np.sign(preferences) / 2
    for at, sign in ((pairs.first, 1), (pairs.second, -1)):
        won += np.bincount(at, weights=0.5 + sign * half, minlength=models)
        of += np.bincount(at, minlength=models)
    return divide(won, of)


def _compared_means(pairs: EditComparisons, values: Floats) -> Floats:
    """Return each model's mean score over the samples in which it was compared."""
    seen = np.zeros(values.shape, dtype=np.bool_)
    for at in (pairs.first, pairs.second):
        seen[at, pairs.samples] = True
    return nan_mean(np.where(seen, values, np.nan), 1)


def win_rates(
    human_scores: HumanScores, metric: str, scores: MetricScores
) -> tuple[dict[str, WinRate], dict[str, WinRate]]:
    """Return the share of comparisons won by each model, and by the first model of each pair."""
    pairs = comparisons_from_preferences(human_scores.preferences, scores.oriented_values(metric))
    ones, twos = {}, {}
    for at, name in enumerate(scores.models):
        sign = (pairs.first == at) * 1.0 - (pairs.second == at)
        ones[name] = _win_rate(pairs, sign, scores)
        for other in range(len(scores.models)):
            both = (pairs.first == at) & (pairs.second == other)
            if both.any():
                twos[f"{name} / {scores.models[other]}"] = _win_rate(pairs, both * 1.0, scores)
    return {name: won for name, won in ones.items() if won.people.value is not None}, twos


def _win_rate(pairs: EditComparisons, sign: Floats, scores: MetricScores) -> WinRate:
    """Return the share of comparisons won by the first edit (if `sign` is 1) or by the second (if -1). Skips sign 0."""
    here = sign != 0
    units = scores.clusters[pairs.samples[here]]
    won = ((sign * np.sign(of))[here] / 2 + 0.5 for of in (pairs.people, pairs.scores))
    return WinRate(clustered_proportion(next(won), units), clustered_proportion(next(won), units))
