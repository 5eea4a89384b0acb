"""How far judges, or repeats, agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from creval.core.formatting import interval, value, visible
from creval.core.schema import Digits
from creval.report.output import Findings, Grid, Row, Spot

if TYPE_CHECKING:
    from creval.stats.agreement import Agreement, AnswerTable

_PERCENT, _KAPPA = Digits(2, 1), Digits(3, 3)


def agreement(
    table: AnswerTable, found: Mapping[tuple[str, str], Agreement], distance: str | None = None
) -> Findings:
    """Agreement over everything, by metric, and by metric and group."""
    heads = ["metric", "group", "questions", "percent", "Cohen", "Fleiss", "alpha"]
    rows: list[Row] = [
        [
            metric,
            group,
            f"{one.items:,}",
            Spot(value(one.percent, _PERCENT), interval(*one.percent_ends, _PERCENT)),
            value(one.cohen, _KAPPA),
            value(one.fleiss, _KAPPA),
            Spot(value(one.alpha, _KAPPA), interval(*one.alpha_ends, _KAPPA)),
        ]
        for (metric, group), one in found.items()
    ]
    notes = [
        "percent: pairs of answers that are the same; Cohen: the mean over pairs of voices; "
        "Fleiss: over questions that all answered; alpha: Krippendorff's, "
        f"{distance or table.scale}; in brackets 95 % intervals over samples."
    ]
    if table.unlike:
        notes.append(f"{table.unlike:,} questions are worded differently and left out.")
    groups = [
        {"metric": metric, "group": group, **one._asdict()}
        for (metric, group), one in found.items()
    ]
    scale = distance or table.scale
    data = {
        "distance": scale,
        "voices": list(table.voices),
        "unlike": table.unlike,
        "groups": groups,
    }
    whole = next(iter(found.values()))
    return Findings([_agreed(table, whole)], [Grid(heads, rows, left=2)], data, notes)


def _agreed(table: AnswerTable, found: Agreement) -> str:
    voices = table.voices
    names = ", ".join(visible(name) for name in voices[:-1]) + f" and {visible(voices[-1])}"
    if len(voices) > 4:
        names = f"{len(voices)} voices"
    if found.percent is None:
        return f"{names} answered no question together."
    ends = found.alpha_ends
    range_ = "" if None in ends else f", 95 % interval {ends[0]:.3f} to {ends[1]:.3f}"
    alpha = "" if found.alpha is None else f" (Krippendorff's alpha {found.alpha:.3f}{range_})"
    return f"{names} agree in {found.percent:.1f} % of {found.items:,} answers{alpha}."
