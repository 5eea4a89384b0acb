"""Edits that are not there: how many, why, and what the scores make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from creval.core.edit import EditStatus
from creval.core.formatting import many, visible
from creval.report.output import Grid, Row
from creval.report.sentences import joined, listed
from creval.stats.missing import ZERO, counting

if TYPE_CHECKING:
    from creval.stats.score_table import ScoreTable
    from creval.store.run import Run

_ORDER = (
    EditStatus.REFUSED, EditStatus.FAILED, EditStatus.UNSUPPORTED, EditStatus.IMPOSSIBLE,
    EditStatus.ABSENT,
)  # fmt: skip
_REASONS, _LETTERS = 3, 120  # in a sentence, and of each
Missing = Mapping[str, Mapping[EditStatus, Counter[str]]]
"""By model and status, how many edits are not there for which reason."""


def missing(run: Run, systems: Collection[str], samples: Collection[str]) -> Missing:
    """The edits of these models and samples that are not there."""
    found: dict[str, dict[EditStatus, Counter[str]]] = {}
    for gone in run.missing():
        if gone.edit.system in systems and gone.edit.sample in samples:
            statuses = found.setdefault(gone.edit.system, {})
            statuses.setdefault(gone.status, Counter())[gone.reason] += 1
    return {
        system: {status: found[system][status] for status in _ORDER if status in found[system]}
        for system in systems
        if system in found
    }


def of_table(run: Run, table: ScoreTable) -> Missing:
    """The edits that are not there of a table's models, in all samples that it was made from."""
    return missing(run, table.systems, set(run.subset(table.subset)))


def told(found: Missing) -> list[str]:
    """A sentence for each model that has edits missing."""
    return [
        f"{visible(system)} lacks {many(_total(statuses), 'edit')}: "
        + "; ".join(_counted(status, reasons) for status, reasons in statuses.items())
        + "."
        for system, statuses in found.items()
    ]


def rule(table: ScoreTable, found: Missing) -> list[str]:
    """What scores make of edits that are not there; nothing where none is missing and nothing else
    was wanted than to leave them out."""
    if table.common_of is not None:
        return [common(table)]
    there = {status for statuses in found.values() for status in statuses}
    if not there:
        nothing = "No edit is missing, so none counts as failed."
        return [nothing] if table.missing == ZERO else []
    counted = there & counting(table.missing)
    worst = {metric.name: metric.worst for metric in table.card.metrics}
    zero = [name for name, value in worst.items() if value is not None]
    others = [name for name in worst if name not in zero]
    lines = []
    if counted and zero:
        words = f"Edits that are {_either(counted)} count as failed: 0 in {joined(zero)}"
        if others:
            verb = "has" if len(others) == 1 else "have"
            words += f"; {joined(others)} {verb} no worst value, so there they are left out"
        lines.append(f"{words}.")
    elif counted:
        lines.append(
            f"No value of {joined(others)} stands for nothing at all, so edits that are "
            f"{_either(counted)} are left out of the scores."
        )
    left_out = there - counted
    if table.card.unsupported is not None:  # which has a sentence of its own
        left_out -= {EditStatus.UNSUPPORTED}
    if left_out:
        lines.append(f"Edits that are {_either(left_out)} are left out of the scores.")
    return lines


def _either(statuses: Collection[EditStatus]) -> str:
    return joined([str(status) for status in _ORDER if status in statuses]).replace(" and ", " or ")


def common(table: ScoreTable) -> str:
    """On which samples a table of what all models have rests."""
    return (
        f"Scored on the {len(table.samples):,} of {table.common_of:,} samples that all "
        f"{many(len(table.systems), 'model')} have a score of."
    )


def _total(statuses: Mapping[EditStatus, Counter[str]]) -> int:
    return sum(reasons.total() for reasons in statuses.values())


def _counted(status: EditStatus, reasons: Counter[str]) -> str:
    """So many, and why, where that says more than the status."""
    words = f"{reasons.total():,} {status}"
    known = [(_short(reason), number) for reason, number in reasons.most_common() if reason]
    if status is EditStatus.ABSENT or not known:
        return words
    alone = len(reasons) == 1
    return f"{words} ({visible(known[0][0]) if alone else listed(known, _REASONS)})"


def _short(reason: str) -> str:
    words = " ".join(reason.split())
    return words if len(words) <= _LETTERS else f"{words[: _LETTERS - 1]}…"


def grid(found: Missing) -> Grid | None:
    """A row for each model, status and reason; none where all edits are there."""
    rows: list[Row] = []
    breaks = set()
    for system, statuses in found.items():
        breaks.add(len(rows))
        for status, reasons in statuses.items():
            for reason, number in reasons.most_common():
                rows.append([system, str(status), reason, f"{number:,}"])
    if not rows:
        return None
    return Grid(["model", "the edit is", "why", "edits"], rows, left=3, breaks=frozenset(breaks))


def data(found: Missing, table: ScoreTable) -> dict[str, Any]:
    """The same for another program."""
    return {
        "missing": table.missing,
        "common_of": table.common_of,
        "missing_edits": {
            system: {
                str(status): [
                    {"reason": reason, "edits": number} for reason, number in reasons.most_common()
                ]
                for status, reasons in statuses.items()
            }
            for system, statuses in found.items()
        },
    }
