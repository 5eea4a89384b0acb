"""The questions of a run, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.analysis.item_statistics import ITEM_ISSUES
from creval.core.formatting import pluralise
from creval.reporting.output import CommandOutput, OutputTable

if TYPE_CHECKING:
    from creval.analysis.item_statistics import ItemStatistics


def items_output(statistics: Sequence[ItemStatistics], top: int) -> CommandOutput:
    """How hard questions are, what they tell, and the `top` of those worth rewriting."""
    faulty = sorted((item for item in statistics if item.issues), key=_fault_order)
    notes = [
        "passed: the mean credit over models; tells: the correlation, over models, of a question's "
        "credit with the model's score. A question that all pass or fail tells nothing apart; "
        "that need not be its fault."
    ]
    if len(faulty) > top:
        notes.insert(0, f"... and {len(faulty) - top:,} more: `top` N, or `json` for all.")
    grids = [_metric_table(statistics)]
    if faulty[:top]:
        grids.append(_faulty_table(faulty[:top]))
    data = {"questions": [_item_json(item) for item in statistics]}
    return CommandOutput([_summary_sentence(statistics)], grids, data, notes)


def _summary_sentence(statistics: Sequence[ItemStatistics]) -> str:
    asked = [item for item in statistics if item.credit is not None]
    if not asked:
        return "No question has an answer that can be scored."
    passed = sum(item.credit == 1 for item in asked)
    failed = sum(item.credit == 0 for item in asked)
    faulty = sum(bool(item.issues) for item in statistics)
    alike = 100 * (passed + failed) / len(asked)
    worth = f"{faulty:,} {'is' if faulty == 1 else 'are'} worth a look."
    shares = f"Of {pluralise(len(asked), 'question')} {passed:,} are passed and {failed:,} failed by"
    if max(item.model_count for item in asked) < 2:
        return f"{shares} the only model. {worth}"
    return f"{shares} every model: {alike:.0f} % tell no two of them apart. {worth}"


def _metric_table(statistics: Sequence[ItemStatistics]) -> OutputTable:
    rows = []
    for metric in dict.fromkeys(item.question.metric for item in statistics):
        here = [item for item in statistics if item.question.metric == metric]
        passed = [item.credit for item in here if item.credit is not None]
        tells = [item.discrimination for item in here if item.discrimination is not None]
        rows.append(
            [
                metric,
                f"{len(here):,}",
                f"{100 * sum(passed) / len(passed):.1f} %" if passed else "–",
                f"{sum(credit == 1 for credit in passed):,}",
                f"{sum(credit == 0 for credit in passed):,}",
                f"{sum(tells) / len(tells):+.2f}" if tells else "–",
                f"{sum(bool(item.issues) for item in here):,}",
            ]
        )
    heads = ["metric", "questions", "passed", "all pass", "all fail", "tells", "worth a look"]
    return OutputTable(heads, rows)


def _faulty_table(faulty: Sequence[ItemStatistics]) -> OutputTable:
    rows = [
        [
            item.sample,
            item.question.id,
            f"{item.question.weight:g}",
            "; ".join(item.issues),
            item.question.text or "(no words)",
        ]
        for item in faulty
    ]
    heads = ["sample", "question", "weight", "why", "its words"]
    return OutputTable(heads, rows, title="worth rewriting", text_columns=len(heads))


def _fault_order(item: ItemStatistics) -> tuple[int, float, str, str]:
    """The most certain faults first, then those that weigh most."""
    first = min(ITEM_ISSUES.index(fault) for fault in item.issues)
    return first, -item.question.weight, item.sample, item.question.id


def _item_json(item: ItemStatistics) -> dict[str, Any]:
    return {
        "sample": item.sample,
        "id": item.question.id,
        "metric": item.question.metric,
        "question": item.question.text,
        "reference": item.question.reference,
        "weight": item.question.weight,
        "credit": item.credit,
        "models": item.model_count,
        "tells": item.discrimination,
        "unanswered": {"count": item.unanswered.hits, "of": item.unanswered.total},
        "disputed": {"count": item.disputed.hits, "of": item.disputed.total},
        "faults": list(item.issues),
    }
