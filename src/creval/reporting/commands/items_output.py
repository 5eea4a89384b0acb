"""Output of `creval items`: statistics of single questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from creval.analysis.item_statistics import ITEM_ISSUES
from creval.core.formatting import pluralise
from creval.reporting.output import CommandOutput, OutputTable

if TYPE_CHECKING:
    from creval.analysis.item_statistics import ItemStatistics


def items_output(statistics: Sequence[ItemStatistics], top: int) -> CommandOutput:
    """Return the difficulty and discrimination of questions, and the first `top` questions worth rewriting."""
    faulty = sorted((item for item in statistics if item.issues), key=_fault_order)
    notes = [
        "passed: mean credit over models. discrimination: correlation, over models, of the credit for a question "
        "with the model's score. A question that all models pass or fail does not separate models, but it need not "
        "be faulty."
    ]
    if len(faulty) > top:
        notes.insert(0, f"... and {len(faulty) - top:,} more. `top` N shows more, `json` all.")
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
    worth = f"{pluralise(faulty, 'question')} should be reviewed."
    shares = f"Of {pluralise(len(asked), 'question')}, {passed:,} are passed and {failed:,} failed by"
    if max(item.model_count for item in asked) < 2:
        return f"{shares} the only model. {worth}"
    return f"{shares} every model, so {alike:.0f} % do not separate any models. {worth}"


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
    heads = ["metric", "questions", "passed", "all pass", "all fail", "discrimination", "to review"]
    return OutputTable(heads, rows)


def _faulty_table(faulty: Sequence[ItemStatistics]) -> OutputTable:
    rows = [
        [
            item.sample,
            item.question.id,
            f"{item.question.weight:g}",
            "; ".join(item.issues),
            item.question.text or "(no text)",
        ]
        for item in faulty
    ]
    heads = ["sample", "question", "weight", "issues", "text"]
    return OutputTable(heads, rows, title="questions to review", text_columns=len(heads))


def _fault_order(item: ItemStatistics) -> tuple[int, float, str, str]:
    """Sort key: the most certain faults first, then the largest weights."""
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
