"""Scores of every sample, computed from a run's answers and measurements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from creval.benchmarks import protocol_of_run
from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError, require_known
from creval.core.files import gc_paused
from creval.core.sample import Sample
from creval.core.schema import Level, Score, ScoreSchema, Weights
from creval.stats.missing import EXCLUDE, ZERO, check_missing_policy, failed_statuses, worst_scores, worst_sub_scores
from creval.stats.score_table import Floats, Integers, ScoreTable, SubScoreBuilder, add_composite
from creval.stats.scorecard import Scorecard, build_scorecard

if TYPE_CHECKING:
    from creval.store.run import Run


def score(
    run: Run,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    models: tuple[str, ...] | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    average: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
    missing: str = EXCLUDE,
    common: bool = False,
) -> Scorecard:
    """Score a run at every level of its protocol, with intervals and coverage.

    `average` adds the mean over the models. `groups` adds the mean of each named group of models and the differences
    between these groups. Samples without an edit are excluded or, with `missing="zero"`, count as failed. `common`
    keeps only the samples that all models have a score for.
    """
    table = build_score_table(
        run, strict=strict, subset=subset, weights=weights, models=models, missing=missing, common=common
    )
    return build_scorecard(table, resamples=resamples, seed=seed, average=average, groups=groups)


def build_score_table(
    run: Run,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    models: tuple[str, ...] | None = None,
    averaged: bool = False,
    missing: str = EXCLUDE,
    common: bool = False,
) -> ScoreTable:
    """Return a run's sample scores, averaged over draws.

    Several answers to a question about one edit are reduced to their majority, or with `averaged` to their mean.
    `missing` excludes samples without an edit (`exclude`) or counts them as failed (`zero`). `common` keeps only the
    samples that all models have a score for.
    """
    check_missing_policy(missing, common)
    samples = run.sample_ids(subset)
    table = _ScoreTableBuilder(run, samples, strict, weights, models, averaged, missing).build()
    table = replace(table, subset=subset, missing=missing)
    return restrict_to(run, table, weights=weights, averaged=averaged) if common else table


def restrict_to(
    run: Run,
    table: ScoreTable,
    samples: tuple[str, ...] | None = None,
    *,
    weights: Weights | None = None,
    averaged: bool = False,
) -> ScoreTable:
    """Restrict the table to these samples, by default to those that all models have a score for.

    A value that one model lacks is removed from all models.
    """
    kept = table.common_samples() if samples is None else samples
    if not kept:
        there = (~np.isnan(table.values)).any(axis=2).sum(axis=1)
        least = int(there.argmin())
        raise CrevalError(
            f"`common_samples`: no sample has scores of all {len(table.models)} models. "
            f"{table.models[least]!r} has the fewest ({there[least]}). Select other models with `models`."
        )
    less = _ScoreTableBuilder(run, kept, table.strict, weights, table.models, averaged, table.missing).build()
    less = replace(less, schema=table.schema, subset=table.subset, missing=table.missing)
    return replace(less.keep_shared_values(len(less.models)), sample_count_before_common=len(table.samples))


class _ScoreTableBuilder:
    """Builder of a score table from the scores of each draw (one of several edits of a sample)."""

    def __init__(
        self,
        run: Run,
        samples: tuple[str, ...],
        strict: bool,
        weights: Weights | None,
        models: tuple[str, ...] | None,
        averaged: bool,
        missing: str,
    ) -> None:
        protocol = protocol_of_run(run.manifest)
        if strict and not protocol.has_strict:
            raise CrevalError(f"`strict`: {protocol.name} has no strict scoring.")
        self._run, self._samples, self._strict, self._averaged = run, samples, strict, averaged
        self._protocol = protocol if weights is None else protocol.with_weights(weights)
        self._schema = self._protocol.schema.with_levels(run.levels)
        self._metrics = [metric.name for metric in self._schema.metrics]
        models = run.models if models is None else tuple(map(run.resolve_model, models))
        for name in models:
            require_known("model", name, run.models)
        if not models:
            raise CrevalError(f"{run.folder} has no edits yet.")
        self._draws: dict[str, dict[str, list[Mapping[str, Score]]]] = {name: {} for name in models}
        self._failed_edits = find_failed_edits(run, missing, self._draws, frozenset(samples))
        self._unsupported = frozenset() if self._schema.unsupported_value is None else run.unsupported
        self._question_counts = _QuestionCounts(run, models, samples)
        self._metrics_with_values = _MetricsWithValues(self._schema)
        self._has_sub_scores = any(level.groups_sub_scores for level in self._schema.levels)
        self._sub_scores = SubScoreBuilder(self._schema, models, samples, self._metrics)

    def build(self) -> ScoreTable:
        unsupported = {name: [one for one in self._samples if (name, one) in self._unsupported] for name in self._draws}
        for name, identities in unsupported.items():
            self._question_counts.unasked[name] -= self._question_counts.count_questions(identities)
        self._score_draws()
        self._add_failed_draws()
        samples = [self._run.samples[identity] for identity in self._samples]
        rows = [
            [draws.get(one) or [self._score_without_verdicts(name, one)] for one in self._samples]
            for name, draws in self._draws.items()
        ]
        cells = np.array([[_average_draws(draws, self._metrics) for draws in row] for row in rows], dtype=np.float64)
        probed = {probe.metric for identity in self._samples for probe in self._run.probes[identity]}
        return ScoreTable(
            schema=self._schema.with_probed_metrics(probed),
            models=tuple(self._draws),
            samples=self._samples,
            groups={
                level.name: _group_indices(level, [sample.tags for sample in samples])
                for level in self._schema.levels
                if level.groups_samples
            },
            values=cells[..., 0],
            scored=cells[..., 1].astype(np.int64),
            total=cells[..., 2].astype(np.int64),
            unanswered=self._question_counts.unanswered,
            unasked=self._question_counts.unasked,
            clusters=_number_clusters(samples),
            sub_scores=self._sub_scores.build_tables(),
            unsupported={name: len(identities) for name, identities in unsupported.items()},
            strict=self._strict,
        )

    def _score_draws(self) -> None:
        """Score all draws. If edits are missing, score all edits of the run, to find the metrics that have values."""
        run, wanted = self._run, frozenset(self._samples)
        lacking = bool(self._failed_edits or self._unsupported)
        with gc_paused():
            for key, values in run.values_by_edit(averaged=self._averaged):
                inside = key.model in self._draws and key.sample in wanted
                if not inside and not lacking:
                    continue
                sample, probes = run.samples[key.sample], run.probes[key.sample]
                score = self._protocol.score(sample, probes, values, strict=self._strict)
                if lacking:
                    self._metrics_with_values.add(sample, score)
                if inside:
                    self._question_counts.add(key, values)
                    self._draws[key.model].setdefault(key.sample, []).append(score)
                    if self._has_sub_scores:
                        self._sub_scores.add(key, self._protocol.sub_scores(sample, probes, values))

    def _add_failed_draws(self) -> None:
        """Add a draw with the worst scores for each failed edit, in the metrics that the run scores."""
        run = self._run
        for key in self._failed_edits:
            sample = run.samples[key.sample]
            scored = {name for name in self._metrics if self._metrics_with_values.has(sample, name)}
            worst = worst_scores(self._schema, self._score_without_verdicts(key.model, key.sample), scored)
            self._draws[key.model].setdefault(key.sample, []).append(worst)
            if self._has_sub_scores:
                nothing = self._protocol.sub_scores(sample, run.probes[key.sample], {})
                self._sub_scores.add(key, worst_sub_scores(self._schema, nothing, scored))

    def _score_without_verdicts(self, model: str, identity: str) -> Mapping[str, Score]:
        """Return the score of a sample without verdicts."""
        run, card = self._run, self._schema
        sample = run.samples[identity]
        found = self._protocol.score(sample, run.probes[identity], {})
        if (model, identity) not in self._unsupported:
            return found
        counted = {
            metric.name
            for metric in card.metrics
            if not metric.measured_only
            and found[metric.name].total
            and self._metrics_with_values.has(sample, metric.name, default=True)
        }
        return {metric: Score(card.unsupported_value if metric in counted else None, 0, 0) for metric in found}


class _MetricsWithValues:
    """Metrics of which a run has values, by group. In other metrics, a missing edit does not count as failed."""

    def __init__(self, schema: ScoreSchema) -> None:
        level = schema.find_level("overall")
        while level.mean_of is not None:
            level = schema.find_level(level.mean_of)
        self._finest_level = level.name
        self._anywhere: set[str] = set()
        self._by_group: dict[str, dict[str, bool]] = {}

    def add(self, sample: Sample, score: Mapping[str, Score]) -> None:
        """Add the score of a draw."""
        inside = self._by_group.setdefault(sample.tags.get(self._finest_level, ""), {})
        for name, (value, _, total) in score.items():
            if value is not None:
                inside[name] = True
                self._anywhere.add(name)
            elif total:
                inside.setdefault(name, False)

    def has(self, sample: Sample, metric: str, *, default: bool = False) -> bool:
        """Return whether the sample's finest group has values of a metric.

        If the group has no edits, return whether any group has values, or True with `default`.
        """
        inside = self._by_group.get(sample.tags.get(self._finest_level, ""), {})
        return inside.get(metric, default or metric in self._anywhere)


class _QuestionCounts:
    """Numbers of questions without an answer and of questions never asked, by model."""

    def __init__(self, run: Run, models: Sequence[str], samples: Sequence[str]) -> None:
        self._probes, self._measurement_ids = run.probes, run.measurement_ids
        self.unanswered = dict.fromkeys(models, 0)
        self.unasked = dict.fromkeys(models, self.count_questions(samples))
        self._most_asked: dict[tuple[str, str], int] = {}

    def count_questions(self, samples: Sequence[str]) -> int:
        """Count the questions about these samples. Measurements are not questions."""
        count = sum(len(self._probes[identity]) for identity in samples)
        if self._measurement_ids:
            probes = (probe.id for identity in samples for probe in self._probes[identity])
            count -= sum(probe in self._measurement_ids for probe in probes)
        return count

    def add(self, key: EditKey, values: Mapping[str, float | None]) -> None:
        """Add the answers about one draw. For `unasked`, only the draw with most questions counts."""
        if self._measurement_ids:
            values = {name: v for name, v in values.items() if name not in self._measurement_ids}
        self.unanswered[key.model] += list(values.values()).count(None)
        more = len(values) - self._most_asked.get((key.model, key.sample), 0)
        if more > 0:
            self.unasked[key.model] -= more
            self._most_asked[key.model, key.sample] = len(values)


def ranking_values_of_sample(run: Run, schema: ScoreSchema, models: Sequence[str], sample: str) -> Floats:
    """Return each model's value on one sample in the ranking column; NaN if there is none."""
    protocol = protocol_of_run(run.manifest)
    probes = run.probes[sample]
    draws: dict[str, list[Mapping[str, Score]]] = {
        name: [protocol.score(run.samples[sample], probes, {})] for name in models
    }
    for key, values in run.values_by_edit(sample):
        if key.model in draws:
            draws[key.model].append(protocol.score(run.samples[sample], probes, values))
    metrics = [metric.name for metric in schema.metrics]
    rows = [[score.value for score in _average_draws(found, metrics)] for found in draws.values()]
    columns = add_composite(schema, np.array(rows, dtype=np.float64))
    ranking: Floats = columns[:, schema.columns.index(schema.ranking_column)]
    return ranking


def _number_clusters(samples: Sequence[Sample]) -> Integers:
    """Return the cluster index of each sample."""
    number: dict[str, int] = {}
    return np.array([number.setdefault(sample.cluster, len(number)) for sample in samples], dtype=np.int64)


def _group_indices(level: Level, tags: Sequence[Mapping[str, str]]) -> Integers:
    """Return the index of each sample's group in a level; -1 if the sample is in no group."""
    place = {group: at for at, group in enumerate(level.groups)}
    return np.array([place.get(tag.get(level.name, ""), -1) for tag in tags], dtype=np.int64)


def _average_draws(draws: Sequence[Mapping[str, Score]], metrics: Sequence[str]) -> list[Score]:
    """Return, for each metric, the mean over draws with a value and the total counts of all draws."""
    if len(draws) == 1:
        return [draws[0][metric] for metric in metrics]
    means = []
    for metric in metrics:
        scores = [draw[metric] for draw in draws]
        values = [score.value for score in scores if score.value is not None]
        mean = sum(values) / len(values) if values else None
        means.append(Score(mean, sum(s.scored for s in scores), sum(s.total for s in scores)))
    return means


def find_failed_edits(run: Run, missing: str, models: Collection[str], samples: Collection[str]) -> list[EditKey]:
    """Return the missing edits of these models and samples that count as failed."""
    statuses = failed_statuses(missing)
    if not statuses:
        return []
    if missing == ZERO and "answers_folder" in run.manifest:
        raise CrevalError("`missing` zero: a replay of recorded answers does not know which edits exist.")
    found = [
        gone.edit
        for gone in run.missing_edits()
        if gone.status in statuses and gone.edit.model in models and gone.edit.sample in samples
    ]
    judged_metrics = run.metrics_with_verdicts() if found else ()
    open_ = [
        key
        for key in (run.unjudged_edits() if found else ())
        if key.sample in samples and any(p.metric in judged_metrics for p in run.probes[key.sample])
    ]
    for name in dict.fromkeys(key.model for key in found):
        count = sum(key.model == name for key in open_)
        if count:
            raise CrevalError(
                f"`missing` zero: {count} edits of {name!r} are not judged yet, so that missing ones "
                "would weigh too much. Run `creval judge` again until all are judged, or use `missing` exclude."
            )
    return found
