"""Missing edits: how many, why, and how they count in scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from creval.core.edit_record import EditStatus
from creval.core.formatting import escape_control, pluralise
from creval.reporting.output import OutputTable, Row
from creval.reporting.sentences import format_reasons, join_names
from creval.stats.missing import ZERO, failed_statuses

if TYPE_CHECKING:
    from creval.stats.score_table import ScoreTable
    from creval.store.run import Run

_ORDER = (EditStatus.REFUSED, EditStatus.FAILED, EditStatus.UNSUPPORTED, EditStatus.IMPOSSIBLE, EditStatus.ABSENT)
_MAX_REASONS, _MAX_CHARS = 3, 120  # reasons in a sentence, characters of a reason
MissingCounts = Mapping[str, Mapping[EditStatus, Counter[str]]]
"""Counts of missing edits by model, status and reason."""


def find_missing_edits(run: Run, models: Collection[str], samples: Collection[str]) -> MissingCounts:
    """Count the missing edits of these models and samples."""
    found: dict[str, dict[EditStatus, Counter[str]]] = {}
    for gone in run.missing_edits():
        if gone.edit.model in models and gone.edit.sample in samples:
            statuses = found.setdefault(gone.edit.model, {})
            statuses.setdefault(gone.status, Counter())[gone.reason] += 1
    return {
        model: {status: found[model][status] for status in _ORDER if status in found[model]}
        for model in models
        if model in found
    }


def missing_from_table(run: Run, table: ScoreTable) -> MissingCounts:
    """Count the missing edits of a table's models, in all samples of its subset."""
    return find_missing_edits(run, table.models, set(run.sample_ids(table.subset)))


def missing_sentences(counts: MissingCounts) -> list[str]:
    """Return a sentence for each model with missing edits."""
    lines = []
    for model, statuses in counts.items():
        total = sum(reasons.total() for reasons in statuses.values())
        shown = "; ".join(_format_status(status, reasons) for status, reasons in statuses.items())
        lines.append(f"{escape_control(model)} has {pluralise(total, 'missing edit')}: {shown}.")
    return lines


def missing_policy_sentences(table: ScoreTable, counts: MissingCounts) -> list[str]:
    """State how missing edits count in the scores, or nothing if there is nothing to state."""
    if table.sample_count_before_common is not None:
        rest = f"{len(table.samples):,} of {table.sample_count_before_common:,} samples"
        return [f"Scored on the {rest} that all {pluralise(len(table.models), 'model')} have a score for."]
    there = {status for statuses in counts.values() for status in statuses}
    if not there:
        return ["No edit is missing, so none counts as failed."] if table.missing == ZERO else []
    counted = there & failed_statuses(table.missing)
    worst = {metric.name: metric.worst_value for metric in table.schema.metrics}
    zero = [name for name, value in worst.items() if value is not None]
    others = [name for name in worst if name not in zero]
    lines = []
    if counted and zero:
        words = f"Edits that are {_join_statuses(counted)} count as failed: 0 in {join_names(zero)}"
        if others:
            verb = "has" if len(others) == 1 else "have"
            words += f". {join_names(others)} {verb} no worst value, so these edits are left out there"
        lines.append(f"{words}.")
    elif counted:
        lines.append(
            f"{join_names(others)} {'has' if len(others) == 1 else 'have'} no worst value, so edits that are "
            f"{_join_statuses(counted)} are left out of the scores."
        )
    left_out = there - counted
    if table.schema.unsupported_value is not None:  # `unsupported_sentences` has a sentence about them
        left_out -= {EditStatus.UNSUPPORTED}
    if left_out:
        lines.append(f"Edits that are {_join_statuses(left_out)} are left out of the scores.")
    return lines


def _join_statuses(statuses: Collection[EditStatus]) -> str:
    return join_names([str(status) for status in _ORDER if status in statuses]).replace(" and ", " or ")


def _format_status(status: EditStatus, reasons: Counter[str]) -> str:
    """Format a count with its status, and the reasons if they add information."""
    words = f"{reasons.total():,} {status}"
    said = ((reason.removeprefix(f"{status}: "), number) for reason, number in reasons.most_common() if reason)
    known = [(shorten_reason(reason, _MAX_CHARS), number) for reason, number in said]
    if status is EditStatus.ABSENT or not known:
        return words
    alone = len(reasons) == 1
    return f"{words} ({escape_control(known[0][0]) if alone else format_reasons(known, _MAX_REASONS)})"


def shorten_reason(reason: str, limit: int) -> str:
    """Return a reason in one line of at most `limit` characters."""
    words = " ".join(reason.split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def missing_table(counts: MissingCounts) -> OutputTable | None:
    """Return a table with a row per model, status and reason, or None if no edit is missing."""
    rows: list[Row] = []
    breaks = set()
    for model, statuses in counts.items():
        breaks.add(len(rows))
        for status, reasons in statuses.items():
            for reason, number in reasons.most_common():
                rows.append([model, str(status), reason, f"{number:,}"])
    if not rows:
        return None
    return OutputTable(["model", "status", "reason", "edits"], rows, text_columns=3, section_starts=frozenset(breaks))


def missing_json(counts: MissingCounts, table: ScoreTable) -> dict[str, Any]:
    """Return the counts of missing edits and how they count, as JSON data."""
    return {
        "missing": table.missing,
        "common_of": table.sample_count_before_common,
        "missing_edits": {
            model: {
                str(status): [{"reason": reason, "edits": number} for reason, number in reasons.most_common()]
                for status, reasons in statuses.items()
            }
            for model, statuses in counts.items()
        },
    }
