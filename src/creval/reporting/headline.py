"""The answer in words: who is best, and where each model is strong and weak."""

from __future__ import annotations

from creval.core import formatting
from creval.core.schema import Digits
from creval.reporting import numbers
from creval.reporting.output import OutputTable
from creval.reporting.sentences import join_names
from creval.stats.scorecard import Scorecard


def headline_sentence(card: Scorecard) -> str:
    """Who is best in the column that ranks, or who may be."""
    rank = card.table.schema.ranking_column
    scored = [name for name in card.models if card.cell(name, rank).value is not None]
    if not scored:
        return f"No model has a value in {rank} yet."
    if len(scored) == 1:
        return f"{_format_score(card, scored[0])}; there is nothing to compare it with."
    first = [name for name in scored if card.rank_ranges[name][0] == 1]
    if len(first) == 1:
        best = _format_score(card, first[0])
        return f"{best} is the best of {len(card.models)} models on {rank}, and that is decided."
    return f"Who is best on {rank} is not decided: {join_names([_format_score(card, n) for n in first])}."


def _format_score(card: Scorecard, name: str) -> str:
    rank = card.table.schema.ranking_column
    shown = numbers.format_estimate(card.cell(name, rank), card.table.schema.find_metric(rank).digits)
    return f"{formatting.escape_control(name)} ({shown})"


def strengths_and_weaknesses(card: Scorecard) -> OutputTable:
    """Each model's place, and where it is furthest above and below the others' mean; alone, its best and worst."""
    levels = [one.name for one in card.table.schema.levels if one.groups_samples and len(card.groups(one.name)) > 1]
    finest = levels[-1] if levels else ""
    heads = ["model", "place", "metrics: strongest", "weakest"]
    if finest:
        heads += [f"{finest}: strongest", "weakest"]
    rows = []
    for name in card.models:
        row = [name, numbers.format_places(*card.rank_ranges[name])]
        row += _strongest_and_weakest(card, _metric_leads(card, name))
        if finest:
            rank = card.table.schema.ranking_column
            leads = {group: _lead(card, name, rank, group, finest) for group in card.groups(finest)}
            known = {group: lead for group, lead in leads.items() if lead is not None}
            row += _strongest_and_weakest(card, known, rank)
        rows.append(row)
    against = "Beside each: how far above or below the other models' mean." if len(rows) > 1 else ""
    of = _supported_level(card)
    if against and of:
        plural = card.table.schema.find_level(of).plural.replace("_", " ")
        against = f"{against[:-1]}, over the {plural} that both it and others support."
    return OutputTable(heads, rows, caption=against, text_columns=len(heads))


def _metric_leads(card: Scorecard, name: str) -> dict[str, float]:
    """How far a model lies above the others in each metric, in shares of its scale."""
    found = {}
    of = _supported_level(card)
    for metric in card.table.schema.metrics:
        places = [(group, of) for group in card.groups(of)] if of else [("overall", "overall")]
        leads = (_lead(card, name, metric.name, *place) for place in places)
        if there := [lead for lead in leads if lead is not None]:
            found[metric.name] = sum(there) / len(there)
    return found


def _supported_level(card: Scorecard) -> str:
    """The level of whose groups the whole is the mean, if models cannot do some: zeros for that say nothing."""
    return card.table.schema.find_level("overall").mean_of or "" if any(card.table.unsupported.values()) else ""


def _lead(card: Scorecard, name: str, column: str, group: str, level: str) -> float | None:
    """How far above the others' mean a model lies, better being more; alone, its value."""
    cells = {other: card.cell(other, column, group, level).value for other in card.models}
    own = cells.pop(name)
    others = [value for value in cells.values() if value is not None]
    if own is None or (cells and not others):
        return None
    sign = 1 if card.table.schema.higher_is_better(column) else -1
    return sign * (own - (sum(others) / len(others) if others else 0.0))


def _strongest_and_weakest(card: Scorecard, leads: dict[str, float], column: str = "") -> list[str]:
    """The names of the largest and the least lead, in `column` or each in the metric it names."""
    if not leads:
        return ["–", "–"]
    sign = "+" if len(card.models) > 1 else ""
    names = [max(leads, key=lambda n: leads[n]), min(leads, key=lambda n: leads[n])]
    digits = {name: card.table.schema.find_metric(column or name).digits.ends for name in names}
    shown = [
        f"{formatting.escape_control(name)} ({formatting.format_value(leads[name], Digits(digits[name]), sign)})"
        for name in names
    ]
    return shown if len(leads) > 1 else [shown[0], "–"]
