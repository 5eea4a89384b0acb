"""Output of `creval unchanged`: models that leave sources unchanged, and consistency without those edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from creval.core.formatting import escape_control, format_interval, format_value, pluralise
from creval.reporting.numbers import format_percent
from creval.reporting.output import CommandOutput, OutputTable, Row

if TYPE_CHECKING:
    from creval.analysis.unchanged_edits import UnchangedSummary


def unchanged_output(
    results: Sequence[UnchangedSummary], followed_from: float | None, unreadable: int
) -> CommandOutput:
    """Return the share of edits that hardly changed their source.

    An instruction counts as followed if IF is at least `followed_from`.
    """
    heads = ["model", "edits", "unchanged", "95 % interval"]
    rows: list[Row] = [[one.model, f"{one.unchanged.total:,}", *format_percent(one.unchanged)] for one in results]
    if followed_from is not None:
        heads += ["IF", "consistency", "followed", "consistency if followed", "95 % interval"]
        for row, one in zip(rows, results, strict=True):
            row += [
                format_value(one.instruction_following),
                format_value(one.consistency),
                f"{one.followed_count:,}",
                format_value(one.consistency_when_followed),
                format_interval(one.low, one.high),
            ]
    notes = [
        "unchanged: edits that differ from their source no more than re-encoding it would cause."
        + ("" if followed_from is None else f" followed: samples with an IF of at least {followed_from:g}.")
    ]
    if unreadable:
        notes.append(f"{pluralise(unreadable, 'edit')} could not be compared: no readable image or source.")
    models = [
        {
            "model": one.model,
            "unchanged": one.unchanged.hits,
            "edits": one.unchanged.total,
            "share": one.unchanged.value,
            "share_ends": list(one.unchanged.interval),
            "following": one.instruction_following,
            "keeping": one.consistency,
            "followed": one.followed_count,
            "kept_when_followed": one.consistency_when_followed,
            "kept_ends": [one.low, one.high],
        }
        for one in results
    ]
    return CommandOutput(
        [_unchanged_sentence(results)], [OutputTable(heads, rows)], {"models": models, "lost": unreadable}, notes
    )


def _unchanged_sentence(results: Sequence[UnchangedSummary]) -> str:
    lazy = [one for one in results if one.unchanged.hits]
    if not any(one.unchanged.total for one in results):
        return "No edit could be compared with its source."
    if not lazy:
        return "No model left a source unchanged."
    most = max(lazy, key=lambda one: one.unchanged.value or 0.0)
    share = 100 * (most.unchanged.value or 0.0)
    name = escape_control(most.model)
    models = f"{name} left" if len(lazy) == 1 else f"{len(lazy)} models left"
    often = "" if len(lazy) == 1 else f", {name} most often"
    return (
        f"{models} sources unchanged{often}: {share:.1f} % of its {pluralise(int(most.unchanged.total), 'edit')} "
        "differ from the source no more than re-encoding would cause."
    )
