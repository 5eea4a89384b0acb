"""How many questions ended in which way."""

from __future__ import annotations

from collections.abc import Mapping

from creval.core.verdict import Status
from creval.report.findings import Grid


def statuses(
    counts: Mapping[str, Mapping[Status, int]] | Mapping[str, Mapping[str, int]],
    what: str = "questions",
) -> Grid:
    """A row a model, a column for each way that occurs; `what` is what is counted."""
    named = {model: {Status(s): n for s, n in found.items()} for model, found in counts.items()}
    there = {status for found in named.values() for status in found}
    columns = [status for status in Status if status in there]
    rows = [
        [model, f"{sum(found.values()):,}", *(f"{found.get(one, 0):,}" for one in columns)]
        for model, found in named.items()
    ]
    return Grid(["model", what, *map(str, columns)], rows)
