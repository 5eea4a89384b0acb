"""Output of `creval agree`: agreement between judges or repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from creval.core.formatting import escape_control, format_interval, format_value
from creval.core.schema import Digits
from creval.reporting.output import CommandOutput, OutputTable, Row, TableCell
from creval.reporting.sentences import join_names

if TYPE_CHECKING:
    from creval.stats.agreement import Agreement, AnswerTable

_PERCENT, _KAPPA = Digits(2, 1), Digits(3, 3)


def agreement_output(
    table: AnswerTable, agreements: Mapping[tuple[str, str], Agreement], distance: str | None = None
) -> CommandOutput:
    """Return agreement overall, by metric, and by metric and group."""
    heads = ["metric", "group", "questions", "percent", "Cohen's kappa", "Fleiss' kappa", "alpha"]
    rows: list[Row] = [
        [
            metric,
            group,
            f"{one.items:,}",
            TableCell(format_value(one.percent, _PERCENT), format_interval(*one.percent_ends, _PERCENT)),
            format_value(one.cohen, _KAPPA),
            format_value(one.fleiss, _KAPPA),
            TableCell(format_value(one.alpha, _KAPPA), format_interval(*one.alpha_ends, _KAPPA)),
        ]
        for (metric, group), one in agreements.items()
    ]
    scale = distance or table.default_distance
    notes = [
        "percent: share of equal answers among all pairs of answers to a question. Cohen's kappa: mean over pairs of "
        "judges or repeats. Fleiss' kappa: over questions that all of them answered. alpha: Krippendorff's, "
        f"{scale}. In brackets: 95 % intervals over samples."
    ]
    if table.reworded:
        notes.append(f"{table.reworded:,} questions are left out because their wording differs between the runs.")
    groups = [{"metric": metric, "group": group, **one._asdict()} for (metric, group), one in agreements.items()]
    data = {"distance": scale, "voices": list(table.voices), "unlike": table.reworded, "groups": groups}
    whole = next(iter(agreements.values()))
    return CommandOutput([_agreement_sentence(table, whole)], [OutputTable(heads, rows, text_columns=2)], data, notes)


def _agreement_sentence(table: AnswerTable, agreements: Agreement) -> str:
    voices = [escape_control(name) for name in table.voices]
    names = f"{len(voices)} judges or repeats" if len(voices) > 4 else join_names(voices)
    if agreements.percent is None:
        return f"No question was answered by more than one of {names}."
    ends = agreements.alpha_ends
    range_ = "" if None in ends else f", 95 % interval {ends[0]:.3f} to {ends[1]:.3f}"
    alpha = "" if agreements.alpha is None else f" (Krippendorff's alpha {agreements.alpha:.3f}{range_})"
    return f"{names} agree on {agreements.percent:.1f} % of {agreements.items:,} questions{alpha}."
