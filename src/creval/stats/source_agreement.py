"""Agreement of score sources (judges, protocols, metrics) on models: rank correlations and reversed pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from creval.core.errors import CrevalError
from creval.core.human_ratings import SkippedRows
from creval.core.schema import Digits
from creval.stats.human.paired_series import (
    ClusterResamples,
    CorrelationEstimates,
    SeriesCorrelations,
    correlate_means,
    correlate_series,
    series_by_model,
)
from creval.stats.score_table import Floats, Integers
from creval.stats.scorecard import Difference, Scorecard, ScoreEstimate


@dataclass(frozen=True)
class ScoreSource:
    """A named source of scores, which are the ranking column of a scorecard. `path` is that of the run or file."""

    name: str
    card: Scorecard
    path: str = ""
    skipped_rows: tuple[SkippedRows, ...] = ()

    @property
    def column(self) -> str:
        return self.card.table.schema.ranking_column

    @property
    def higher_is_better(self) -> bool:
        return self.card.table.schema.higher_is_better(self.column)

    @property
    def digits(self) -> Digits:
        return self.card.table.schema.find_metric(self.column).digits

    @property
    def ranked_models(self) -> tuple[str, ...]:
        """The models with a score, best first."""
        return tuple(name for name in self.card.models if self.score(name).value is not None)

    def score(self, model: str) -> ScoreEstimate:
        """Return the overall score of a model."""
        return self.card.cell(model, self.column)

    def oriented_scores(self, models: Sequence[str]) -> Floats:
        """Return the overall scores of models, negated if lower is better."""
        found = np.array([self.score(name).value for name in models], dtype=np.float64)
        return found if self.higher_is_better else -found

    def oriented_values(self, models: Sequence[str], samples: Sequence[str]) -> Floats:
        """Return the scores of these models on these samples, negated if lower is better; axes model, sample."""
        table = self.card.table
        at = [table.models.index(name) for name in models]
        place = {name: n for n, name in enumerate(table.samples)}
        values = table.with_composite()[..., table.schema.columns.index(self.column)]
        found: Floats = values[at][:, [place[name] for name in samples]]
        return found if self.higher_is_better else -found

    def clusters_of(self, samples: Sequence[str]) -> Integers:
        """Return the clusters of samples, numbered from 0."""
        place = {name: n for n, name in enumerate(self.card.table.samples)}
        units = self.card.table.clusters[[place[name] for name in samples]]
        return np.unique(units, return_inverse=True)[1].reshape(-1)

    def difference(self, first: str, second: str) -> Difference | None:
        """Return `first` minus `second`, negated if lower is better, so that a positive value favours `first`."""
        found = self._differences.get((first, second))
        if found is None or self.higher_is_better:
            return found
        return replace(found.reverse(), first=first, second=second)

    @cached_property
    def _differences(self) -> dict[tuple[str, str], Difference]:
        both = (one for found in self.card.differences for one in (found, found.reverse()))
        return {(found.first, found.second): found for found in both}


@dataclass(frozen=True)
class ReversedPair:
    """Two models in opposite order in two sources.

    `better` is the better model in the first source. `differences` has `better` minus `worse` in each source.
    """

    better: str
    worse: str
    differences: tuple[Difference, Difference]

    @property
    def decided(self) -> tuple[bool, bool]:
        """For each source, whether its difference is significant."""
        return self.differences[0].is_decided, self.differences[1].is_decided


@dataclass(frozen=True)
class SourcePair:
    """Two sources compared on the `models` that both score.

    `over_models` correlates models' overall scores, with intervals over models. `over_samples` correlates the scores of
    a model's samples, averaged over models. `pair_count` is the number of pairs of models; `reversed_pairs` are those
    in opposite order, most certain first.
    """

    first: str
    second: str
    models: tuple[str, ...]
    sample_count: int
    over_models: CorrelationEstimates
    over_samples: SeriesCorrelations
    pair_count: int
    reversed_pairs: tuple[ReversedPair, ...]


@dataclass(frozen=True)
class SourceComparison:
    """Several sources of scores side by side. `models` are ordered by their mean rank."""

    sources: tuple[ScoreSource, ...]
    models: tuple[str, ...]
    pairs: tuple[SourcePair, ...]


def compare_sources(sources: Sequence[ScoreSource], *, resamples: int = 2_000, seed: int = 0) -> SourceComparison:
    """Compare each pair of sources."""
    if len({source.name for source in sources}) < len(sources):
        raise CrevalError("two sources of scores have the same name. Name them, such as gpt4o=runs/a.")
    pairs = tuple(_compare_two(one, two, resamples, seed) for one, two in combinations(sources, 2))
    return SourceComparison(tuple(sources), _order_by_mean_rank(sources), pairs)


def _order_by_mean_rank(sources: Sequence[ScoreSource]) -> tuple[str, ...]:
    """Return all models by their mean relative rank in the sources that score them."""
    ranks: dict[str, list[float]] = {}
    for source in sources:
        ranked = source.ranked_models
        for at, name in enumerate(ranked):
            ranks.setdefault(name, []).append((at + 0.5) / len(ranked))
    every = dict.fromkeys(name for source in sources for name in source.card.models)
    return tuple(sorted(every, key=lambda name: (sum(ranks.get(name, [2.0])) / len(ranks.get(name, [2.0])), name)))


def _compare_two(first: ScoreSource, second: ScoreSource, resamples: int, seed: int) -> SourcePair:
    shared = set(second.ranked_models)
    models = tuple(name for name in first.ranked_models if name in shared)
    there = set(second.card.table.samples)
    samples = tuple(name for name in first.card.table.samples if name in there)
    means = [source.oriented_scores(models) for source in (first, second)]
    flipped = [found for one, two in combinations(models, 2) if (found := _reversed_pair(first, second, one, two))]
    flipped.sort(key=lambda pair: (-sum(pair.decided), *(of.p if of.p is not None else 1.0 for of in pair.differences)))
    return SourcePair(
        first=first.name,
        second=second.name,
        models=models,
        sample_count=len(samples),
        over_models=correlate_means(*means),
        over_samples=_correlate_samples(first, second, models, samples, resamples, seed),
        pair_count=len(models) * (len(models) - 1) // 2,
        reversed_pairs=tuple(flipped),
    )


def _correlate_samples(
    first: ScoreSource, second: ScoreSource, models: Sequence[str], samples: Sequence[str], resamples: int, seed: int
) -> SeriesCorrelations:
    """Correlate the scores of shared samples within each model."""
    if not samples or not models:
        return correlate_series([], ClusterResamples(np.zeros(0, dtype=np.int64), resamples, seed))
    values = [source.oriented_values(models, samples) for source in (first, second)]
    series = series_by_model(values[0], values[1], models)
    # A score file may not state which samples share a source image; use the clusters of the source that does.
    clusters = min((source.clusters_of(samples) for source in (first, second)), key=lambda units: int(units.max()))
    return correlate_series(series, ClusterResamples(clusters, resamples, seed))


def _reversed_pair(first: ScoreSource, second: ScoreSource, one: str, two: str) -> ReversedPair | None:
    """Return two models if the sources order them oppositely on the samples that both models have."""
    apart = [source.difference(one, two) for source in (first, second)]
    if apart[0] is None or apart[1] is None or apart[0].value is None or apart[1].value is None:
        return None
    values = [round(found.value or 0.0, 9) for found in apart if found is not None]
    if values[0] * values[1] >= 0:
        return None
    if values[0] < 0:
        return ReversedPair(two, one, (apart[0].reverse(), apart[1].reverse()))
    return ReversedPair(one, two, (apart[0], apart[1]))
