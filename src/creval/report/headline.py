"""The answer in words: who is best, and where each model is strong and weak."""

from __future__ import annotations

from creval.core import formatting
from creval.core.schema import Digits
from creval.report.output import Grid
from creval.report.sentences import joined
from creval.stats.scorecard import Scorecard


def best(card: Scorecard) -> str:
    """Who is best in the column that ranks, or who may be."""
    rank = card.table.card.ranking
    scored = [name for name in card.systems if card.cell(name, rank).value is not None]
    if not scored:
        return f"No model has a value in {rank} yet."
    if len(scored) == 1:
        return f"{_scored(card, scored[0])}; there is nothing to compare it with."
    first = [name for name in scored if card.places[name][0] == 1]
    if len(first) == 1:
        return (
            f"{_scored(card, first[0])} is the best of {len(card.systems)} models on {rank}, and "
            "that is decided."
        )
    return f"Who is best on {rank} is not decided: {joined([_scored(card, n) for n in first])}."


def _scored(card: Scorecard, name: str) -> str:
    rank = card.table.card.ranking
    cell, digits = card.cell(name, rank), card.table.card.metric(rank).digits
    ends = formatting.interval(cell.low, cell.high, digits)
    return f"{formatting.visible(name)} ({formatting.value(cell.value, digits)} {ends})".replace(
        " )", ")"
    )


def strengths(card: Scorecard) -> Grid:
    """For each model the place that it can hold, and where it is furthest above and below the
    others' mean; of one model alone, its own best and worst."""
    finest = next(
        (
            one.name
            for one in reversed(card.table.card.levels)
            if one.tagged and _several(card, one.name)
        ),
        "",
    )
    heads = ["model", "place", "metrics: strongest", "weakest"]
    if finest:
        heads += [f"{finest}: strongest", "weakest"]
    rows = []
    for name in card.systems:
        first, last = card.places[name]
        row = [name, f"{first}" if first == last else f"{first} to {last}"]
        row += _ends(card, _metrics(card, name))
        if finest:
            row += _ends(card, _groups(card, name, finest), card.table.card.ranking)
        rows.append(row)
    against = "Beside each: how far above or below the other models' mean." if len(rows) > 1 else ""
    of = _apart(card)
    if against and of:
        plural = card.table.card.level(of).plural.replace("_", " ")
        against = f"{against[:-1]}, over the {plural} that both it and others support."
    return Grid(heads, rows, caption=against, left=len(heads))


def _several(card: Scorecard, level: str) -> bool:
    return len(card.groups(level)) > 1


def _metrics(card: Scorecard, name: str) -> dict[str, float]:
    """How far a model lies above the others in each metric, in shares of its scale."""
    found = {}
    of = _apart(card)
    for metric in card.table.card.metrics:
        places = [(group, of) for group in card.groups(of)] if of else [("overall", "overall")]
        leads = [_lead(card, name, metric.name, *place) for place in places]
        there = [lead for lead in leads if lead is not None]
        if there:
            found[metric.name] = sum(there) / len(there)
    return found


def _apart(card: Scorecard) -> str:
    """Where models support not all alike, the level of whose groups the whole is the mean: zeros
    for what one cannot do say nothing of how it does the rest."""
    return card.table.card.level("overall").of or "" if any(card.table.unsupported.values()) else ""


def _groups(card: Scorecard, name: str, level: str) -> dict[str, float]:
    rank = card.table.card.ranking
    leads = {group: _lead(card, name, rank, group, level) for group in card.groups(level)}
    return {group: lead for group, lead in leads.items() if lead is not None}


def _lead(card: Scorecard, name: str, column: str, group: str, level: str) -> float | None:
    """How far above the others' mean a model lies, better being more; alone, its value."""
    cells = {other: card.cell(other, column, group, level).value for other in card.systems}
    own = cells.pop(name)
    others = [value for value in cells.values() if value is not None]
    if own is None or (cells and not others):
        return None
    sign = 1 if card.table.card.higher_is_better(column) else -1
    return sign * (own - (sum(others) / len(others) if others else 0.0))


def _ends(card: Scorecard, leads: dict[str, float], column: str = "") -> list[str]:
    """The names of the largest and the least lead, in `column` or each in the metric it names."""
    if not leads:
        return ["–", "–"]
    sign = "+" if len(card.systems) > 1 else ""
    names = [max(leads, key=lambda n: leads[n]), min(leads, key=lambda n: leads[n])]
    digits = {name: card.table.card.metric(column or name).digits.ends for name in names}
    shown = [
        f"{formatting.visible(name)} ({formatting.value(leads[name], Digits(digits[name]), sign)})"
        for name in names
    ]
    return shown if len(leads) > 1 else [shown[0], "–"]
