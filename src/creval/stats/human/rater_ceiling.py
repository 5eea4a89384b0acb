"""Human ceiling: agreement of each rater with the mean of the other raters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creval.stats.aggregate import nan_mean
from creval.stats.agreement import interval_alpha
from creval.stats.correlation import correlation_interval
from creval.stats.human.paired_series import (
    MIN_VALUES,
    ClusterResamples,
    EditComparisons,
    PairedSeries,
    SeriesCorrelations,
    comparisons_from_preferences,
    comparisons_from_ratings,
    concat_comparisons,
    correlate_series,
    pairwise_accuracy,
    series_by_model,
    series_by_model_pair,
)
from creval.stats.human.ratings import HumanScores, MetricScores
from creval.stats.intervals import NO_ESTIMATE, Estimate, make_estimate


@dataclass(frozen=True)
class RaterCeiling:
    """Agreement of one rater with the mean of the other raters, averaged over raters.

    A metric can agree better with people only if its scores are less noisy than the ratings of one person.
    """

    rater_count: int
    over_samples: SeriesCorrelations
    accuracy: Estimate
    alpha: Estimate


def compute_rater_ceiling(
    human_scores: HumanScores, scores: MetricScores, resamples: ClusterResamples
) -> RaterCeiling | None:
    """Correlate each rater with the mean of the other raters. Returns None if no two raters rated the same edit."""
    found: list[PairedSeries] = []
    pairs: list[EditComparisons] = []
    for at in range(len(human_scores.raters)):
        if human_scores.is_preference:
            mine = {c.comparison_key: c.value for c in human_scores.preferences if c.rater == at}
            others = [c for c in human_scores.preferences if c.rater != at and c.comparison_key in mine]
            if not others:
                continue
            between = comparisons_from_preferences(others, np.zeros((len(scores.models), len(scores.samples))))
            keys = np.stack([between.samples, between.first, between.second], axis=1).tolist()
            said = np.array([mine[sample, one, two] for sample, one, two in keys])
            between = between._replace(scores=said)
            each = series_by_model_pair(between, scores.models)
        else:
            rest = nan_mean(np.delete(human_scores.ratings, at, axis=0), 0)
            each = series_by_model(rest, human_scores.ratings[at], scores.models)
            between = comparisons_from_ratings(rest, human_scores.ratings[at])
        found += each
        pairs.append(between)
    if not any(len(series.people) for series in found):
        return None
    return RaterCeiling(
        rater_count=len(human_scores.raters),
        over_samples=correlate_series(found, resamples),
        accuracy=pairwise_accuracy(concat_comparisons(pairs), scores.clusters),
        alpha=compute_rater_alpha(human_scores, resamples),
    )


def compute_rater_alpha(human_scores: HumanScores, resamples: ClusterResamples) -> Estimate:
    """Return Krippendorff's alpha for interval data."""
    said: dict[tuple[int, ...], list[float]] = {}
    if human_scores.is_preference:
        for choice in human_scores.preferences:
            said.setdefault(choice.comparison_key, []).append(choice.value)
    else:
        for rater, model, sample in np.argwhere(~np.isnan(human_scores.ratings)).tolist():
            said.setdefault((sample, model), []).append(float(human_scores.ratings[rater, model, sample]))
    several = {key: values for key, values in said.items() if len(values) > 1}
    if not several:
        return NO_ESTIMATE
    samples = np.array([key[0] for key in several])
    most = max(map(len, several.values()))
    answers = np.array([[*given, *[np.nan] * (most - len(given))] for given in several.values()])
    value = float(interval_alpha(answers, np.ones((1, len(samples))))[0])
    ends = (np.nan, np.nan)
    if len(np.unique(samples)) >= MIN_VALUES:
        ends = correlation_interval(value, interval_alpha(answers, resamples.counts_for(samples)), len(samples))
    return make_estimate(value, ends)
