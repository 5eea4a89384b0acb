"""Output of `creval agree` for the named reviewers of a built benchmark: agreement, and disputed items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from creval.core.formatting import escape_control, format_interval, format_value, pluralise
from creval.core.schema import Digits
from creval.reporting.output import CommandOutput, OutputTable, Row, TableCell
from creval.reporting.sentences import join_names
from creval.stats.agreement import AnswerTable, agreement_by_group, kappa_interval

if TYPE_CHECKING:
    from creval.building.review.votes import ReviewComparison

_PERCENT, _KAPPA = Digits(2, 1), Digits(3, 3)
_KAPPA_NAMES = {"cohen": "Cohen's kappa", "fleiss": "Fleiss' kappa"}


def reviewers_output(found: ReviewComparison) -> CommandOutput:
    """Return the agreement overall and by kind of item, and the disputed items."""
    name = "cohen" if len(found.table.voices) == 2 else "fleiss"
    rows: list[Row] = []
    data = []
    for (kind, _), one in agreement_by_group(found.table).items():
        part = found.table if kind == "all" else _of_kind(found.table, kind)
        groups = np.unique([item.sample for item in part.items], return_inverse=True)[1]
        kappa, ends = getattr(one, name), kappa_interval(part.values, groups)
        data.append({"kind": kind, **one._asdict(), "kappa": kappa, "kappa_ends": ends})
        rows.append(
            [
                kind,
                f"{one.items:,}",
                TableCell(format_value(one.percent, _PERCENT), format_interval(*one.percent_ends, _PERCENT)),
                TableCell(format_value(kappa, _KAPPA), format_interval(*ends, _KAPPA)),
                TableCell(format_value(one.alpha, _KAPPA), format_interval(*one.alpha_ends, _KAPPA)),
            ]
        )
    heads = ["kind", "items", "percent", _KAPPA_NAMES[name], "alpha"]
    tables = [OutputTable(heads, rows)]
    differ: list[Row] = [
        [one.group, one.item, ", ".join(f"{vote.reviewer} {vote.verdict}" for vote in one.votes)]
        for one in found.disagreements
    ]
    if differ:
        tables.append(OutputTable(["group", "item", "verdicts"], differ, text_columns=3))
    notes = [
        "items: decided by two or more; percent: pairs of verdicts that are the same; alpha: Krippendorff's; in "
        "brackets 95 % intervals over groups. "
        f"Kappa is over items that all {len(found.table.voices)} reviewers decided."
    ]
    if found.other_text:
        notes.append(f"{pluralise(found.other_text, 'item')} left out, because the text changed between the verdicts.")
    facts = {
        "reviewers": found.counts,
        "agreement": data,
        "disagreements": [
            {"group": one.group, "item": one.item, "verdicts": {vote.reviewer: vote.verdict for vote in one.votes}}
            for one in found.disagreements
        ],
        "other_text": found.other_text,
    }
    return CommandOutput([_sentence(found)], tables, facts, notes)


def _of_kind(table: AnswerTable, kind: str) -> AnswerTable:
    return table.select_items(np.array([item.metric == kind for item in table.items]))


def _sentence(found: ReviewComparison) -> str:
    names = join_names([escape_control(f"{name} ({count:,})") for name, count in found.counts.items()])
    both = int(((~np.isnan(found.table.values)).sum(axis=1) > 1).sum())
    return f"{names} decided {pluralise(both, 'item')} together, and differ in {len(found.disagreements):,}."
