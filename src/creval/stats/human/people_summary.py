"""Human ratings by themselves: means of models, win rates, Bradley-Terry strengths and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from creval.core.human_ratings import Rating, RatingScale, ScoreRow
from creval.stats.human.bradley_terry import BradleyTerry, fit_strengths
from creval.stats.human.paired_series import ClusterResamples, EditComparisons, comparisons_from_preferences
from creval.stats.human.rater_ceiling import compute_rater_alpha
from creval.stats.human.ratings import HumanScores, MetricScores, collect_human_scores
from creval.stats.intervals import Estimate, clustered_proportion
from creval.stats.score_rows import table_from_rows
from creval.stats.scorecard import Scorecard, build_scorecard


@dataclass(frozen=True)
class PeopleSummary:
    """People's ratings or choices for one metric.

    For ratings, `card` has each model's mean in percent and the differences between models. `scale` is the scale of all
    ratings, or None if they have several. For choices, `win_rates` has each model's share of comparisons won (ties
    count half), and `bradley_terry` the models' strengths. It is empty if they cannot be estimated.
    """

    metric: str
    rater_count: int
    value_count: int
    sample_count: int
    alpha: Estimate
    card: Scorecard | None = None
    scale: RatingScale | None = None
    win_rates: Mapping[str, Estimate] | None = None
    bradley_terry: BradleyTerry | None = None


def summarise_people(
    ratings: Sequence[Rating], clusters: Mapping[str, str] | None = None, *, resamples: int = 2_000, seed: int = 0
) -> list[PeopleSummary]:
    """Summarise ratings or choices by metric. `clusters` has the source image of each sample, if known."""
    nothing = _without_scores(ratings)
    units = [(clusters or {}).get(name, name) for name in nothing.samples]
    nothing = replace(nothing, clusters=np.unique(units, return_inverse=True)[1].reshape(-1))
    drawn = ClusterResamples(nothing.clusters, resamples, seed)
    by_metric: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_metric.setdefault(rating.metric, []).append(rating)
    found, _ = collect_human_scores(ratings, nothing)
    return [_summarise(one, by_metric[one.metric], nothing, units, drawn, resamples, seed) for one in found]


def mean_rating_rows(ratings: Sequence[Rating]) -> Iterator[ScoreRow]:
    """Yield people's ratings or choices as scores in percent: an edit's mean rating, or its share of wins."""
    nothing = _without_scores(ratings)
    for human in collect_human_scores(ratings, nothing)[0]:
        if not human.is_preference:
            yield from _rows(human, nothing, nothing.samples)
            continue
        won: dict[tuple[int, int], list[float]] = {}
        for choice in human.preferences:
            for model, sign in ((choice.first, 1), (choice.second, -1)):
                won.setdefault((choice.sample, model), []).append(50 + 50 * sign * choice.value)
        for (sample, model), shares in won.items():
            value = sum(shares) / len(shares)
            yield ScoreRow(nothing.samples[sample], nothing.models[model], human.metric, value)


def _without_scores(ratings: Sequence[Rating]) -> MetricScores:
    """Return the models and samples of ratings, without any scores."""
    models = tuple(dict.fromkeys(edit.model for rating in ratings for edit in rating.edits))
    samples = tuple(dict.fromkeys(rating.edits[0].sample for rating in ratings))
    values = np.empty((0, len(models), len(samples)))
    return MetricScores((), models, samples, values, np.arange(len(samples)), "", {})


def _summarise(
    human: HumanScores,
    ratings: Sequence[Rating],
    scores: MetricScores,
    units: Sequence[str],
    drawn: ClusterResamples,
    resamples: int,
    seed: int,
) -> PeopleSummary:
    alpha = compute_rater_alpha(human, drawn)
    counts = (len(human.raters), len(ratings), len({rating.edits[0].sample for rating in ratings}))
    if human.is_preference:
        pairs = comparisons_from_preferences(human.preferences, np.zeros((len(scores.models), len(scores.samples))))
        wins = {name: rate for at, name in enumerate(scores.models) if (rate := _win_rate(pairs, at, scores))}
        strengths = fit_strengths(pairs, scores.models, scores.clusters)
        return PeopleSummary(human.metric, *counts, alpha, win_rates=wins, bradley_terry=strengths)
    rows = [row._replace(metric=f"people's {human.metric}") for row in _rows(human, scores, units)]
    card = build_scorecard(table_from_rows(rows), resamples=resamples, seed=seed)
    scales = {rating.scale for rating in ratings}
    return PeopleSummary(human.metric, *counts, alpha, card=card, scale=scales.pop() if len(scales) == 1 else None)


def _rows(human: HumanScores, scores: MetricScores, units: Sequence[str]) -> Iterator[ScoreRow]:
    """Yield the mean rating of each edit."""
    means = human.mean_over_raters()
    for model, sample in np.argwhere(~np.isnan(means)).tolist():
        value = float(means[model, sample])
        yield ScoreRow(scores.samples[sample], scores.models[model], human.metric, value, units[sample])


def _win_rate(pairs: EditComparisons, model: int, scores: MetricScores) -> Estimate | None:
    sign = (pairs.first == model) * 1.0 - (pairs.second == model)
    here = sign != 0
    if not here.any():
        return None
    return clustered_proportion((sign * pairs.people)[here] / 2 + 0.5, scores.clusters[pairs.samples[here]])
