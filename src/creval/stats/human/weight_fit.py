"""Weights of the metrics that correlate best with human ratings, validated on held-out samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from creval.core.human_ratings import Rating
from creval.stats.aggregate import divide, nan_mean
from creval.stats.bootstrap import percentile_interval
from creval.stats.correlation import correlation_interval, fisher_z, pearson
from creval.stats.human.paired_series import (
    MIN_VALUES,
    ClusterResamples,
    comparisons_from_preferences,
    series_by_model,
    split_by_models,
)
from creval.stats.human.ratings import (
    HumanScores,
    MetricScores,
    UnmatchedRatings,
    collect_human_scores,
    metric_scores_from_table,
)
from creval.stats.intervals import Estimate, make_estimate, student_quantile
from creval.stats.score_table import Floats, Integers, ScoreTable
from creval.stats.weight_sensitivity import Sensitivity

FOLDS = 10
_MIN_CLUSTERS = 30
_MAX_METRICS = 8


@dataclass(frozen=True)
class FittedWeights:
    """Fitted weights (`best`) with intervals over samples. The weights are not negative and add up to one.

    `held_out` is the mean Pearson correlation with people if each sample is scored with weights that were fitted
    without it (ten-fold cross-validation). `current` is the correlation with the weights in use. `difference` is
    `held_out` minus `current`.
    """

    best: Mapping[str, Estimate]
    held_out: Estimate
    current: Estimate
    difference: Estimate


class WeightAgreement(NamedTuple):
    """Correlation of weighted sums of metrics with human ratings.

    `most` is the highest correlation, with the weights `best`. `own` is that with the weights in use, `least` the
    lowest.
    """

    best: list[float]
    most: float
    own: float
    least: float


@dataclass(frozen=True)
class _RegressionBlock:
    """Human ratings and scores (axes sample, metric) of one model, or their differences between two models."""

    people: Floats
    metrics: Floats
    samples: Integers


def find_agreeing_weights(
    ratings: Sequence[Rating], table: ScoreTable, sensitivity: Sensitivity
) -> tuple[dict[str, WeightAgreement], UnmatchedRatings]:
    """Find the weights that agree best with each kind of rating. Also return the ratings without a score."""
    scores = metric_scores_from_table(table)
    every = np.vstack([sensitivity.weight_grid, [sensitivity.own_weights]])
    agreed = {}
    said, unmatched = collect_human_scores(ratings, scores)
    for word in said:
        along = correlation_by_weights(word, sensitivity.metrics, scores, every)
        if along is None or np.isnan(along).all():
            continue
        best = int(np.nanargmax(along[:-1]))
        most, own, least = (float(r) for r in (along[best], along[-1], np.nanmin(along)))
        agreed[word.metric] = WeightAgreement(sensitivity.weight_grid[best].tolist(), most, own, least)
    return agreed, unmatched


def fit_weights(
    human_scores: HumanScores, metrics: Sequence[str], scores: MetricScores, resamples: ClusterResamples
) -> FittedWeights | None:
    """Fit the weights by least squares within models.

    None if there are too few samples or no metric agrees with people.
    """
    blocks = _build_blocks(human_scores, metrics, scores)
    if not blocks or len(metrics) > _MAX_METRICS:
        return None
    units = np.unique(scores.clusters[np.concatenate([block.samples for block in blocks])])
    if len(units) < _MIN_CLUSTERS:
        return None
    best = _fit_draws(blocks, [np.ones((1, len(b.people))) for b in blocks])[0]
    if np.isnan(best).any():
        return None
    counts = [resamples.counts_for(block.samples) for block in blocks]
    fitted = _fit_draws(blocks, counts)
    freedom = len(units) - len(metrics)
    wider = student_quantile(freedom) / student_quantile(math.inf) * math.sqrt(len(units) / freedom)
    low, high = (np.clip(best + wider * (end - best), 0, 1) for end in percentile_interval(fitted))
    found = {name: make_estimate(float(best[at]), (float(low[at]), float(high[at]))) for at, name in enumerate(metrics)}
    given = np.array([scores.weights[name] for name in metrics])
    sums = [[block.metrics @ given for block in blocks], _held_out_sums(blocks, scores.clusters, units)]
    points, draws = zip(*(_mean_fisher_z(blocks, of, counts) for of in sums), strict=True)
    old, new = (
        make_estimate(float(np.tanh(p)), correlation_interval(float(np.tanh(p)), np.tanh(d), len(units)))
        for p, d in zip(points, draws, strict=True)
    )
    apart = float(np.tanh(points[1]) - np.tanh(points[0]))
    # Two sources of error: the samples that the weights are compared on, and those that they were fitted to.
    # Both are the same samples, so the errors may be correlated: add the standard deviations, not the variances.
    compared = np.nanstd(np.tanh(draws[1]) - np.tanh(draws[0]))
    trained = np.nanstd(_reached_correlation(blocks, fitted))
    reach = wider * student_quantile(math.inf) * float(compared + trained)
    return FittedWeights(found, new, old, make_estimate(apart, (apart - reach, apart + reach)))


def correlation_by_weights(
    human_scores: HumanScores, metrics: Sequence[str], scores: MetricScores, weights: Floats
) -> Floats | None:
    """Correlate weighted sums of metrics with ratings, for each row of weights. None if there are too few samples.

    Deviations from each model's mean are pooled over the models into one correlation. So weights cannot raise it by
    making a model's weighted sums constant.
    """
    blocks = _build_blocks(human_scores, metrics, scores)
    if not blocks:
        return None
    apart = [(b.metrics - b.metrics.mean(axis=0), b.people - b.people.mean()) for b in blocks]
    inside = np.sum([x.T @ x for x, _ in apart], axis=0)
    along = np.sum([x.T @ y for x, y in apart], axis=0)
    spread = np.einsum("dk,kl,dl->d", weights, inside, weights) * sum(y @ y for _, y in apart)
    return divide(weights @ along, np.sqrt(spread))


def _build_blocks(human_scores: HumanScores, metrics: Sequence[str], scores: MetricScores) -> list[_RegressionBlock]:
    values = np.stack([scores.oriented_values(name) for name in metrics])
    some = np.where(np.isnan(values).any(axis=0), np.nan, values[0])
    if human_scores.is_preference:
        pairs = comparisons_from_preferences(human_scores.preferences, some)
        blocks = []
        for one, two, here in split_by_models(pairs):
            at = pairs.samples[here]
            apart = values[:, one, at] - values[:, two, at]
            blocks.append(_RegressionBlock(pairs.people[here], apart.T, at))
    else:
        blocks = [
            _RegressionBlock(series.people, values[:, at, series.samples].T, series.samples)
            for at, series in enumerate(series_by_model(human_scores.mean_over_raters(), some, scores.models))
        ]
    return [b for b in blocks if len(b.people) >= MIN_VALUES and np.ptp(b.people) > 0]


def _fit_draws(blocks: Sequence[_RegressionBlock], counts: Sequence[Floats]) -> Floats:
    """Return the best weights for each draw of sample counts; axes draw, metric. NaN if no weight is above zero."""
    size = blocks[0].metrics.shape[1]
    draws = len(counts[0])
    inside, along = np.zeros((draws, size, size)), np.zeros((draws, size))
    for block, often in zip(blocks, counts, strict=True):
        total = np.maximum(often.sum(axis=1), 1e-12)
        x, y = block.metrics - block.metrics.mean(axis=0), block.people - block.people.mean()
        means = often @ x / total[:, None]
        level = often @ y / total
        outer = (x[:, :, None] * x[:, None, :]).reshape(len(y), -1)
        inside += (often @ outer).reshape(draws, size, size)
        inside -= total[:, None, None] * means[:, :, None] * means[:, None, :]
        along += often @ (x * y[:, None]) - (total * level)[:, None] * means
    return _non_negative_least_squares(inside, along)


def _non_negative_least_squares(inside: Floats, along: Floats) -> Floats:
    """Solve non-negative least squares by trying every subset of metrics. The solution is scaled to a sum of one."""
    draws, size = along.shape
    best, gain = np.full((draws, size), np.nan), np.zeros(draws)
    ridge = 1e-9 * np.trace(inside, axis1=1, axis2=2)[:, None, None] + 1e-12
    for count in range(1, size + 1):
        for chosen in combinations(range(size), count):
            at = np.array(chosen)
            matrix = inside[:, at[:, None], at] + ridge * np.eye(count)
            found = np.linalg.solve(matrix, along[:, at][..., None])[..., 0]
            explained = (found * along[:, at]).sum(axis=1)
            better = (found > 0).all(axis=1) & (explained > gain)
            gain = np.where(better, explained, gain)
            full = np.zeros((draws, size))
            full[:, at] = found
            best = np.where(better[:, None], full, best)
    shares: Floats = best / best.sum(axis=1, keepdims=True)
    return shares


def _held_out_sums(blocks: Sequence[_RegressionBlock], cluster_of_sample: Integers, clusters: Integers) -> list[Floats]:
    """Return weighted sums of the metrics. The weights for a sample are fitted without the sample's fold."""
    order = np.random.default_rng(0).permutation(len(clusters))
    fold = np.zeros(int(cluster_of_sample.max()) + 1, dtype=np.int64)
    fold[clusters] = order % FOLDS
    places = [fold[cluster_of_sample[block.samples]] for block in blocks]
    weights = np.stack(
        [_fit_draws(blocks, [(p != n).astype(np.float64)[None] for p in places])[0] for n in range(FOLDS)]
    )
    even = np.full(weights.shape[1], 1 / weights.shape[1])
    weights = np.where(np.isnan(weights), even, weights)
    return [(b.metrics * weights[p]).sum(axis=1) for b, p in zip(blocks, places, strict=True)]


def _reached_correlation(blocks: Sequence[_RegressionBlock], weights: Floats) -> Floats:
    """Return, for each draw's weights, the mean correlation over all samples."""
    found = []
    for block in blocks:
        x, y = block.metrics - block.metrics.mean(axis=0), block.people - block.people.mean()
        spread = np.sqrt(np.einsum("dk,kl,dl->d", weights, x.T @ x, weights) * (y @ y))
        found.append(fisher_z(divide(weights @ (x.T @ y), spread)))
    return np.tanh(nan_mean(np.stack(found), 0))


def _mean_fisher_z(
    blocks: Sequence[_RegressionBlock], sums: Sequence[Floats], counts: Sequence[Floats]
) -> tuple[float, Floats]:
    """Return Fisher's z of the correlation with people, averaged over blocks: of the data, and of each resample."""
    points, draws = [], []
    for block, made, often in zip(blocks, sums, counts, strict=True):
        points.append(fisher_z(pearson(block.people, made, np.ones((1, len(made)))))[0])
        draws.append(fisher_z(pearson(block.people, made, often)))
    there = ~np.isnan(points)
    if not there.any():
        return np.nan, np.full(len(draws[0]), np.nan)
    kept = [drawn for drawn, here in zip(draws, there, strict=True) if here]
    return float(np.array(points)[there].mean()), np.mean(kept, axis=0)
