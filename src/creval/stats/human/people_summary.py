"""Human ratings by themselves: means of models, win rates, Bradley-Terry strengths and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from creval.core.human_ratings import Rating, RatingScale, ScoreRow
from creval.stats.human.bradley_terry import fit_strengths
from creval.stats.human.paired_series import ClusterResamples, EditComparisons, comparisons_from_preferences
from creval.stats.human.rater_ceiling import compute_rater_alpha
from creval.stats.human.ratings import HumanScores, MetricScores, collect_human_scores
from creval.stats.intervals import Estimate, clustered_proportion
from creval.stats.score_rows import table_from_rows
from creval.stats.scorecard import Scorecard, build_scorecard


@dataclass(frozen=True)
class PeopleSummary:
    """What people said about one metric.

    Of ratings: `card` has each model's mean in percent, and the differences between models; `scale` is the scale of all
    ratings, or None if they have several. Of choices: each model's share of comparisons won (ties count half), and its
    `strengths`, which are empty if they cannot be estimated.
    """

    metric: str
    rater_count: int
    value_count: int
    sample_count: int
    alpha: Estimate
    card: Scorecard | None = None
    scale: RatingScale | None = None
    win_rates: Mapping[str, Estimate] | None = None
    strengths: Mapping[str, Estimate] | None = None


def summarise_people(
    ratings: Sequence[Rating], clusters: Mapping[str, str] | None = None, *, resamples: int = 2_000, seed: int = 0
) -> list[PeopleSummary]:
    """Summarise ratings or choices by metric. `clusters` has the source image of each sample, if known."""
    models = tuple(dict.fromkeys(edit.model for rating in ratings for edit in rating.edits))
    samples = tuple(dict.fromkeys(rating.edits[0].sample for rating in ratings))
    units = [(clusters or {}).get(name, name) for name in samples]
    cluster = np.unique(units, return_inverse=True)[1].reshape(-1)
    nothing = MetricScores((), models, samples, np.empty((0, len(models), len(samples))), cluster, "", {})
    drawn = ClusterResamples(cluster, resamples, seed)
    by_metric: dict[str, list[Rating]] = {}
    for rating in ratings:
        by_metric.setdefault(rating.metric, []).append(rating)
    found, _ = collect_human_scores(ratings, nothing)
    return [_summarise(one, by_metric[one.metric], nothing, units, drawn, resamples, seed) for one in found]


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
        return PeopleSummary(human.metric, *counts, alpha, win_rates=wins, strengths=strengths)
    card = build_scorecard(table_from_rows(list(_rows(human, scores, units))), resamples=resamples, seed=seed)
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
