"""Human ratings and metric scores as arrays over the same models and samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from creval.core.human_ratings import Rating, ScoreRow
from creval.stats.aggregate import nan_mean
from creval.stats.score_table import Floats, Integers, ScoreTable


@dataclass(frozen=True)
class MetricScores:
    """Automatic scores: `values` has the axes metric, model, sample; NaN is a missing score.

    Ratings are compared with the metric of the same name, otherwise with `main_metrics` or, without these, with all
    metrics. `main_metric` is the weighted mean of the metrics in `weights`. `clusters` has the cluster of each sample.
    Samples of one image are in one cluster.
    """

    metrics: tuple[str, ...]
    models: tuple[str, ...]
    samples: tuple[str, ...]
    values: Floats
    clusters: Integers
    main_metric: str
    weights: Mapping[str, float]
    lower_is_better: frozenset[str] = frozenset()
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of several sources: the column of each metric in its source, such as `IF` of the metric `gpt-4o: IF`."""
    main_metrics: tuple[str, ...] = ()
    """Of several sources: the metrics to compare with ratings that are named after no column."""

    def candidates(self, rated: str) -> tuple[str, ...]:
        """Return the metrics to compare with ratings of this name.

        These are the metrics with the same name, otherwise the main metrics, otherwise all metrics.
        """
        same = tuple(name for name in self.metrics if self.columns.get(name, name) == rated)
        return same or self.main_metrics or self.metrics

    def oriented_values(self, metric: str) -> Floats:
        """Return a metric's scores, negated if lower is better; axes model, sample."""
        values: Floats = self.values[self.metrics.index(metric)]
        return -values if metric in self.lower_is_better else values


def metric_scores_from_table(table: ScoreTable) -> MetricScores:
    """Return a run's scores. If the composite has several metrics, add their geometric mean."""
    card = table.schema
    scores = MetricScores(
        metrics=card.columns,
        models=table.models,
        samples=table.samples,
        values=table.with_composite().transpose(2, 0, 1),
        clusters=table.clusters,
        main_metric=card.ranking_column,
        weights=card.component_weights(card.ranking_column),
        lower_is_better=frozenset(c for c in card.columns if not card.higher_is_better(c)),
    )
    return with_geometric_mean(scores) if len(scores.weights) > 1 else scores


def metric_scores_from_rows(rows: Sequence[ScoreRow], lower_is_better: Iterable[str] = ()) -> MetricScores:
    """Return the scores of a file. The file's first metric is the main one."""
    metrics, models, samples = (
        tuple(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("metric", "model", "sample")
    )
    places = [_positions(of) for of in (metrics, models, samples)]
    values = np.full((len(metrics), len(models), len(samples)), np.nan)
    for row in rows:
        values[places[0][row.metric], places[1][row.model], places[2][row.sample]] = row.score
    source = {row.sample: row.source or row.sample for row in rows}
    _, units = np.unique([source[name] for name in samples], return_inverse=True)
    main = {metrics[0]: 1.0}
    return MetricScores(
        metrics, models, samples, values, units.reshape(-1), metrics[0], main, frozenset(lower_is_better)
    )


def with_geometric_mean(scores: MetricScores) -> MetricScores:
    """Add the weighted geometric mean of the components of the main metric."""
    name = f"{scores.main_metric}, geometric"
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [w * np.log(scores.oriented_values(m)) for m, w in scores.weights.items() if w]
        made = np.exp(np.sum(logs, axis=0))
    return _append_metric(scores, name, made)


def with_means(scores: MetricScores, metrics: Sequence[str]) -> MetricScores:
    """Add the arithmetic mean of some metrics, as the main metric, and their geometric mean."""
    name = f"mean of {', '.join(metrics)}"
    mean = np.mean([scores.oriented_values(part) for part in metrics], axis=0)
    made = _append_metric(scores, name, mean)
    equal = dict.fromkeys(metrics, 1 / len(metrics))
    return with_geometric_mean(replace(made, main_metric=name, weights=equal))


def average_over_samples(scores: MetricScores) -> MetricScores:
    """Average each model's scores, for comparison with ratings of whole models."""
    return replace(
        scores, samples=("",), values=nan_mean(scores.values, 2)[..., None], clusters=np.zeros(1, dtype=np.int64)
    )


def _append_metric(scores: MetricScores, name: str, values: Floats) -> MetricScores:
    together = np.concatenate([scores.values, values[None]])
    return replace(scores, metrics=(*scores.metrics, name), values=together)


class Preference(NamedTuple):
    """One rater's choice between two edits: 1 for the first, -1 for the second, 0 for neither."""

    rater: int
    sample: int
    first: int
    second: int
    value: float

    @property
    def comparison_key(self) -> tuple[int, int, int]:
        return self.sample, self.first, self.second


@dataclass(frozen=True)
class HumanScores:
    """Human judgements of one metric, such as instruction following: either `ratings` or `preferences`.

    `ratings` are in percent, NaN if missing; axes rater, model, sample.
    """

    metric: str
    raters: tuple[str, ...]
    ratings: Floats
    preferences: tuple[Preference, ...] = ()

    @property
    def is_preference(self) -> bool:
        return bool(self.preferences)

    def mean_over_raters(self) -> Floats:
        """Return the mean over raters, rounded so that equal means compare equal; axes model, sample."""
        return np.round(nan_mean(self.ratings, 0), 9)


@dataclass(frozen=True)
class UnmatchedRatings:
    """Ratings of models and samples that have no scores."""

    ratings: int
    models: tuple[str, ...]
    samples: tuple[str, ...]


def collect_human_scores(ratings: Sequence[Rating], scores: MetricScores) -> tuple[list[HumanScores], UnmatchedRatings]:
    """Return the human judgements of each metric, and the ratings without scores.

    Models and samples are indices into those of `scores`.
    """
    model, sample = _positions(scores.models), _positions(scores.samples)
    lost_models: Counter[str] = Counter()
    lost_samples: Counter[str] = Counter()
    kept: dict[str, list[Rating]] = {}
    lost = 0
    for rating in ratings:
        strange = [edit.model for edit in rating.edits if edit.model not in model]
        strange_sample = rating.edits[0].sample not in sample
        lost_models.update(strange)
        lost_samples.update([rating.edits[0].sample] * strange_sample)
        if strange or strange_sample:
            lost += 1
        else:
            kept.setdefault(rating.metric, []).append(rating)
    found = [_build_human_scores(metric, said, model, sample) for metric, said in kept.items()]
    names = (tuple(name for name, _ in of.most_common()) for of in (lost_models, lost_samples))
    return found, UnmatchedRatings(lost, *names)


def _positions(names: Sequence[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(names)}


def _build_human_scores(
    metric: str, said: Sequence[Rating], model: Mapping[str, int], sample: Mapping[str, int]
) -> HumanScores:
    raters = tuple(dict.fromkeys(rating.rater for rating in said))
    rater = _positions(raters)
    if said[0].choice is not None:
        preferences = tuple(_build_preference(rating, rater, model, sample) for rating in said)
        return HumanScores(metric, raters, np.empty((0, len(model), len(sample))), preferences)
    values = np.full((len(raters), len(model), len(sample)), np.nan)
    for rating in said:
        (edit,) = rating.edits
        assert rating.value is not None  # noqa: S101
        values[rater[rating.rater], model[edit.model], sample[edit.sample]] = rating.value
    return HumanScores(metric, raters, values)


def _build_preference(
    rating: Rating, rater: Mapping[str, int], model: Mapping[str, int], sample: Mapping[str, int]
) -> Preference:
    first, second = (edit.model for edit in rating.edits)
    value = 0.0 if not rating.choice else 1.0 if rating.choice == first else -1.0
    at = sample[rating.edits[0].sample]
    return Preference(rater[rating.rater], at, model[first], model[second], value)
