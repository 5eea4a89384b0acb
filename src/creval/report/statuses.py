"""How many questions ended in which way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from creval.core.verdict import Status
from creval.report.text import visible

if TYPE_CHECKING:
    from rich.table import Table


def status_table(
    counts: Mapping[str, Mapping[Status, int]] | Mapping[str, Mapping[str, int]],
    what: str = "questions",
) -> Table:
    """A row a model, a column for each way that occurs; `what` is what is counted."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    named = {model: {Status(s): n for s, n in found.items()} for model, found in counts.items()}
    there = {status for found in named.values() for status in found}
    columns = [status for status in Status if status in there]
    table = Table("model", what, *map(str, columns), box=SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for model, found in named.items():
        numbers = [sum(found.values()), *(found.get(column, 0) for column in columns)]
        table.add_row(Text(visible(model)), *map(str, numbers))
    return table
