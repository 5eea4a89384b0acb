"""Samples that a model has no edit of: left out, or counted as its failing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.schema import Score, ScoreSchema, SubScore

EXCLUDE, ZERO = "exclude", "zero"
_FAILED_STATUSES = frozenset({EditStatus.REFUSED, EditStatus.FAILED, EditStatus.ABSENT})


def check_missing_policy(missing: str, common: bool) -> None:
    """Refuse rules that are none, or that contradict each other."""
    if missing not in (EXCLUDE, ZERO):
        raise CrevalError(f"`missing` takes exclude or zero, not {missing!r}.")
    if missing == ZERO and common:
        raise CrevalError(
            "`missing` zero counts samples that a model has no edit of, `common_samples` leaves them out: choose one."
        )


def failed_statuses(missing: str) -> frozenset[EditStatus]:
    """Return the statuses that count as failed: none, or under `zero` those of edits that the model did not bring."""
    return _FAILED_STATUSES if missing == ZERO else frozenset()


def worst_scores(schema: ScoreSchema, scores: Mapping[str, Score], scored_metrics: Collection[str]) -> dict[str, Score]:
    """Return the scores of a sample without an edit: of every metric in `scored_metrics` the worst, if there is one."""
    worst = {metric.name: metric.worst_value for metric in schema.metrics if metric.name in scored_metrics}
    return {name: _worst_if_scored(score, worst.get(name)) for name, score in scores.items()}


def worst_sub_scores(
    schema: ScoreSchema, sub_scores: Mapping[str, Sequence[SubScore]], scored_metrics: Collection[str]
) -> dict[str, list[SubScore]]:
    """Return the same of a sample's parts."""
    worst = {metric.name: metric.worst_value for metric in schema.metrics if metric.name in scored_metrics}
    return {
        level: [part._replace(score=_worst_if_scored(part.score, worst.get(part.metric))) for part in several]
        for level, several in sub_scores.items()
    }


def _worst_if_scored(score: Score, worst: float | None) -> Score:
    return score if worst is None or not score.total else Score(worst, score.total, score.total)
