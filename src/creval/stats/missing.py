"""Samples that a system has no edit of: left out, or counted as its failing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from creval.core.edit import EditStatus
from creval.core.errors import CrevalError
from creval.core.schema import Card, Part, Score

if TYPE_CHECKING:
    pass

EXCLUDE, ZERO = "exclude", "zero"
_FAILINGS = frozenset({EditStatus.REFUSED, EditStatus.FAILED, EditStatus.ABSENT})


def check_rule(missing: str, common: bool) -> None:
    """Refuse rules that are none, or that contradict each other."""
    if missing not in (EXCLUDE, ZERO):
        raise CrevalError(f"--missing takes exclude or zero, not {missing!r}.")
    if missing == ZERO and common:
        raise CrevalError(
            "--missing zero counts samples that a model has no edit of, --common-samples leaves "
            "them out: choose one."
        )


def counting(missing: str) -> frozenset[EditStatus]:
    """The edits that count as failed though there is nothing to score: under `zero` those that were
    refused, failed or never came. What a system does not support counts as its card says; what the
    benchmark made impossible counts nowhere."""
    return _FAILINGS if missing == ZERO else frozenset()


def worst_score(
    card: Card, scores: Mapping[str, Score], scored: Collection[str]
) -> dict[str, Score]:
    """What a sample without an edit scores: of all that is `scored` in the run, the worst, where
    there is such a value."""
    worst = {metric.name: metric.worst for metric in card.metrics if metric.name in scored}
    return {name: _worst(score, worst.get(name)) for name, score in scores.items()}


def worst_parts(
    card: Card, parts: Mapping[str, Sequence[Part]], scored: Collection[str]
) -> dict[str, list[Part]]:
    """The same of a sample's parts."""
    worst = {metric.name: metric.worst for metric in card.metrics if metric.name in scored}
    return {
        level: [part._replace(score=_worst(part.score, worst.get(part.metric))) for part in several]
        for level, several in parts.items()
    }


def _worst(score: Score, worst: float | None) -> Score:
    return score if worst is None or not score.total else Score(worst, score.total, score.total)
