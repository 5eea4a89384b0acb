"""Samples without an edit by a model: excluded, or counted as failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.schema import Score, ScoreSchema, SubScore

EXCLUDE, ZERO = "exclude", "zero"
_FAILED_STATUSES = frozenset({EditStatus.REFUSED, EditStatus.FAILED, EditStatus.ABSENT})


def check_missing_policy(missing: str, common: bool) -> None:
    """Raise an error if the policy is unknown or contradicts `common_samples`."""
    if missing not in (EXCLUDE, ZERO):
        raise CrevalError(f"`missing` takes exclude or zero, not {missing!r}.")
    if missing == ZERO and common:
        raise CrevalError("`missing` zero counts samples without an edit, `common_samples` excludes them: choose one.")


def failed_statuses(missing: str) -> frozenset[EditStatus]:
    """Return the statuses that count as failed: refused, failed and absent if `missing` is `zero`, otherwise none."""
    return _FAILED_STATUSES if missing == ZERO else frozenset()


def worst_scores(schema: ScoreSchema, scores: Mapping[str, Score], scored_metrics: Collection[str]) -> dict[str, Score]:
    """Return the scores of a sample without an edit: the worst value in each of `scored_metrics`.

    Other metrics, and metrics without a worst value, keep the given score.
    """
    worst = {metric.name: metric.worst_value for metric in schema.metrics if metric.name in scored_metrics}
    return {name: _worst_if_scored(score, worst.get(name)) for name, score in scores.items()}


def worst_sub_scores(
    schema: ScoreSchema, sub_scores: Mapping[str, Sequence[SubScore]], scored_metrics: Collection[str]
) -> dict[str, list[SubScore]]:
    """Return the worst scores of the parts of a sample without an edit, as `worst_scores` does for the sample."""
    worst = {metric.name: metric.worst_value for metric in schema.metrics if metric.name in scored_metrics}
    return {
        level: [part._replace(score=_worst_if_scored(part.score, worst.get(part.metric))) for part in several]
        for level, several in sub_scores.items()
    }


def _worst_if_scored(score: Score, worst: float | None) -> Score:
    return score if worst is None or not score.total else Score(worst, score.total, score.total)
