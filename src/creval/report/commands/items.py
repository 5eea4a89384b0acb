"""The questions of a run, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.analysis.items import FAULTS
from creval.core.formatting import many
from creval.report.output import Findings, Grid

if TYPE_CHECKING:
    from creval.analysis.items import ItemStatistics


def items(found: Sequence[ItemStatistics], top: int) -> Findings:
    """How hard questions are, what they tell, and the `top` of those worth rewriting."""
    faulty = sorted((item for item in found if item.faults), key=_urgency)
    notes = [
        "passed: the mean credit over models; tells: the correlation, over models, of a question's "
        "credit with the model's score. A question that all pass or fail tells nothing apart; "
        "that need not be its fault."
    ]
    if len(faulty) > top:
        notes.insert(0, f"... and {len(faulty) - top:,} more: --top N, or --json for all.")
    grids = [_by_metric(found)]
    if faulty[:top]:
        grids.append(_worth(faulty[:top]))
    data = {"questions": [_as_json(item) for item in found]}
    return Findings([_questioned(found)], grids, data, notes)


def _questioned(found: Sequence[ItemStatistics]) -> str:
    asked = [item for item in found if item.credit is not None]
    if not asked:
        return "No question has an answer that can be scored."
    passed = sum(item.credit == 1 for item in asked)
    failed = sum(item.credit == 0 for item in asked)
    faulty = sum(bool(item.faults) for item in found)
    alike = 100 * (passed + failed) / len(asked)
    worth = f"{faulty:,} {'is' if faulty == 1 else 'are'} worth a look."
    shares = f"Of {many(len(asked), 'question')} {passed:,} are passed and {failed:,} failed by"
    if max(item.systems for item in asked) < 2:
        return f"{shares} the only model. {worth}"
    return f"{shares} every model: {alike:.0f} % tell no two of them apart. {worth}"


def _by_metric(found: Sequence[ItemStatistics]) -> Grid:
    rows = []
    for metric in dict.fromkeys(item.question.metric for item in found):
        here = [item for item in found if item.question.metric == metric]
        passed = [item.credit for item in here if item.credit is not None]
        tells = [item.tells for item in here if item.tells is not None]
        rows.append(
            [
                metric,
                f"{len(here):,}",
                f"{100 * sum(passed) / len(passed):.1f} %" if passed else "–",
                f"{sum(credit == 1 for credit in passed):,}",
                f"{sum(credit == 0 for credit in passed):,}",
                f"{sum(tells) / len(tells):+.2f}" if tells else "–",
                f"{sum(bool(item.faults) for item in here):,}",
            ]
        )
    heads = ["metric", "questions", "passed", "all pass", "all fail", "tells", "worth a look"]
    return Grid(heads, rows)


def _worth(faulty: Sequence[ItemStatistics]) -> Grid:
    rows = [
        [
            item.sample,
            item.question.id,
            f"{item.question.weight:g}",
            "; ".join(item.faults),
            item.question.text or "(no words)",
        ]
        for item in faulty
    ]
    heads = ["sample", "question", "weight", "why", "its words"]
    return Grid(heads, rows, title="worth rewriting", left=len(heads))


def _urgency(item: ItemStatistics) -> tuple[int, float, str, str]:
    """The most certain faults first, then those that weigh most."""
    first = min(FAULTS.index(fault) for fault in item.faults)
    return first, -item.question.weight, item.sample, item.question.id


def _as_json(item: ItemStatistics) -> dict[str, Any]:
    return {
        "sample": item.sample,
        "id": item.question.id,
        "metric": item.question.metric,
        "question": item.question.text,
        "reference": item.question.reference,
        "weight": item.question.weight,
        "credit": item.credit,
        "models": item.systems,
        "tells": item.tells,
        "unanswered": {"count": item.unanswered.found, "of": item.unanswered.total},
        "disputed": {"count": item.disputed.found, "of": item.disputed.total},
        "faults": list(item.faults),
    }
