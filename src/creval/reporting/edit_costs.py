"""Cost and time of edits next to their scores, for models and for the strategies of one editor."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from creval.core import formatting
from creval.reporting import numbers
from creval.reporting.output import STRONG, OutputTable, Row, TableCell
from creval.stats.scorecard import Difference, Scorecard
from creval.store.provenance import EditProvenance

DIRECT = "direct"
ProvenanceByModel = Mapping[str, EditProvenance]
"""The provenance of each model's edits, where it is known."""


def cost_table(card: Scorecard, provenances: ProvenanceByModel) -> OutputTable:
    """Return a table with a row per model: calls, cost and time per edit, and the score.

    Rows are grouped by editor; within an editor, the cheapest model comes first.
    """
    rank = card.table.schema.ranking_column
    digits = card.table.schema.find_metric(rank).digits
    compared = {name: _difference_to_direct(card, provenances, name) for name in card.models}
    heads = ["model", "editor", "strategy", "edits", "calls per edit", "cost per edit", "time per edit", rank]
    if any(compared.values()):
        heads.append(f"{rank} gain over direct")
    rows: list[Row] = []
    order = order_by_cost(card, provenances)
    editors = [provenances[name].editor if name in provenances else None for name in order]
    breaks = {at for at, (before, editor) in enumerate(pairwise([None, *editors])) if editor != before}
    for name in order:
        maker, cell = provenances.get(name), card.cell(name, rank)
        row: Row = [name, *_provenance_cells(maker), numbers.estimate_cell(cell, digits)]
        found = compared[name]
        if found is not None:
            row.append(numbers.estimate_cell(found, digits, "+", STRONG if found.is_decided else ""))
        row += [""] * (len(heads) - len(row))
        rows.append(row)
    bold = " Bold gain: significant, on the samples that both have." if any(compared.values()) else ""
    return OutputTable(
        heads, rows, caption=_caption(provenances) + bold, text_columns=3, section_starts=frozenset(breaks)
    )


def order_by_cost(card: Scorecard, provenances: ProvenanceByModel) -> list[str]:
    """Return the models grouped by editor; within an editor, the cheapest first.

    Models of unknown provenance come last.
    """
    first: dict[str | None, int] = {}
    for at, name in enumerate(card.models):
        first.setdefault(provenances[name].editor if name in provenances else None, at)

    def place(name: str) -> tuple[float, ...]:
        if name not in provenances:
            return (len(card.models),)
        maker = provenances[name]
        took = (maker.cost_per_edit, maker.seconds_per_edit)
        return first[maker.editor], *(float("inf") if one is None else one for one in took)

    return sorted(card.models, key=place)


def describe_provenance(provenance: EditProvenance) -> str:
    """Describe a model's editor, strategy, and cost and time per edit."""
    cost, time = _format_expense(provenance, "an unknown cost", "an unknown time")
    return f"made by {provenance.editor}, {provenance.strategy}: {cost} and {time} per edit"


def _format_expense(provenance: EditProvenance, no_cost: str = "unknown", no_time: str = "unknown") -> tuple[str, str]:
    """Format the cost and the time per edit. `no_cost` and `no_time` are the texts for unknown ones."""
    cost, seconds = provenance.cost_per_edit, provenance.seconds_per_edit
    return (
        no_cost if cost is None else formatting.format_money(cost),
        no_time if seconds is None else formatting.format_seconds(seconds),
    )


def _provenance_cells(provenance: EditProvenance | None) -> list[str | TableCell]:
    if provenance is None:
        return ["unknown", "", "", "", "unknown", "unknown"]
    each = max(provenance.edits, 1)
    helpers = (provenance.picking.calls + provenance.planning.calls) / each
    calls = TableCell(f"{provenance.editing.calls / each:.3g}", f"helpers {helpers:.3g}" if helpers else "")
    cost, time = _format_expense(provenance)
    made = [provenance.editor, provenance.strategy, f"{provenance.edits:,}"]
    return [*made, calls, TableCell(cost, _helper_shares(provenance)), time]


def _helper_shares(provenance: EditProvenance) -> str:
    """Format the shares of the cost that picking and planning took, if above zero."""
    total = provenance.total_costs.cost
    helpers = ((provenance.picking.cost, "picking"), (provenance.planning.cost, "planning"))
    return ", ".join(f"{100 * cost / total:.0f} % {what}" for cost, what in helpers if cost and total)


def _caption(provenances: ProvenanceByModel) -> str:
    words = "Cost and time per edit: the total of all calls (including unpicked candidates, picking and planning) "
    words += "divided by the number of images."
    if any(maker.cost_per_edit is None for maker in provenances.values()):
        words += " The cost is unknown if the price of a call is unknown."
    return words


def _difference_to_direct(card: Scorecard, provenances: ProvenanceByModel, name: str) -> Difference | None:
    """Return the difference of a strategy to the same editor used directly, or None if one is missing."""
    if name not in provenances or provenances[name].strategy == DIRECT:
        return None
    direct = provenances[name].editor, DIRECT
    makers = {n: (provenances[n].editor, provenances[n].strategy) for n in card.models if n in provenances}
    plain = [n for n, maker in makers.items() if maker == direct]
    return _find_difference(card, name, plain[0]) if len(plain) == 1 else None


def _find_difference(card: Scorecard, first: str, second: str) -> Difference | None:
    for found in card.differences:
        if (found.first, found.second) == (first, second):
            return found
        if (found.first, found.second) == (second, first) and found.value is not None:
            return found.reverse()
    return None


def cost_sentences(card: Scorecard, provenances: ProvenanceByModel) -> list[str]:
    """State each strategy's gain over the same editor used directly, and its relative cost."""
    rank = card.table.schema.ranking_column
    digits = card.table.schema.find_metric(rank).digits
    lines = []
    for name in order_by_cost(card, provenances):
        found = _difference_to_direct(card, provenances, name)
        if found is None or found.value is None:
            continue
        maker, plain = provenances[name], provenances[found.second]
        decided = "significant" if found.is_decided else "not significant"
        lines.append(
            f"{formatting.escape_control(maker.editor)}: {formatting.escape_control(maker.strategy)} changes {rank} by "
            f"{numbers.format_estimate(found, digits, '+')} compared with direct ({decided})"
            f"{_cost_factor(maker, plain)}."
        )
    return lines


def _cost_factor(provenance: EditProvenance, plain: EditProvenance) -> str:
    """Return the ratio of the costs or, if they are unknown, of the times."""
    for one, other, what in (
        (provenance.cost_per_edit, plain.cost_per_edit, "cost"),
        (provenance.seconds_per_edit, plain.seconds_per_edit, "time"),
    ):
        if one is not None and other:
            return f", at {one / other:.2g} times the {what}"
    return ""


def cost_json(provenances: ProvenanceByModel) -> dict[str, Any]:
    """Return provenance and expense of each model as JSON data, with null for unknown values."""
    return {
        name: {**maker.to_dict(), "cost_per_edit": maker.cost_per_edit, "seconds_per_edit": maker.seconds_per_edit}
        for name, maker in provenances.items()
    }
