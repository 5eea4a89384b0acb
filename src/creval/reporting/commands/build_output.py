"""Content of a built benchmark: how often operations, edit types and tasks occur, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from creval.core.formatting import pluralise
from creval.reporting.output import CommandOutput, OutputTable, Row


def operations_output(counts: Mapping[str, Mapping[str, int]], images: int) -> CommandOutput:
    """Return how often each operation occurs, by category. The caption names those that never occur."""
    total = sum(sum(group.values()) for group in counts.values())
    grid = operations_table(counts)
    sentence = f"{pluralise(images, 'image')}, {pluralise(total, 'atomic instruction')}."
    data = {"pictures": images, "operations": {k: dict(group) for k, group in counts.items()}}
    return CommandOutput([sentence], [grid], data)


def operations_table(counts: Mapping[str, Mapping[str, int]]) -> OutputTable:
    """Return how often each operation occurs, and its share. The caption names those that never occur."""
    total = sum(sum(group.values()) for group in counts.values())
    heads = ["category", "operation", "count", "share"]
    return _grouped_table(counts, heads, "Never", lambda n: [f"{n:,}", f"{100 * n / total:.1f} %"])


def edit_types_output(counts: Mapping[str, Mapping[str, int]], kinds: Sequence[str]) -> CommandOutput:
    """Return how often each edit type occurs in each subset."""
    rows: list[Row] = [[kind, *(f"{group.get(kind, 0):,}" for group in counts.values())] for kind in kinds]
    total = [sum(group.values()) for group in counts.values()]
    rows.append(["all", *(f"{number:,}" for number in total)])
    grid = OutputTable(["edit type", *counts], rows, section_starts=frozenset({len(kinds)}))
    sentence = f"{pluralise(sum(total), 'step')} in {pluralise(sum(map(bool, total)), 'subset')}."
    return CommandOutput([sentence], [grid], {"edit_types": {k: dict(v) for k, v in counts.items()}})


def tasks_output(counts: Mapping[str, Mapping[str, int]], unfilled: int) -> CommandOutput:
    """Return how many items each ICE-Bench task has, by group. The caption names tasks without items."""
    grid = _grouped_table(counts, ["group", "task", "items"], "No items", lambda n: [f"{n:,}"])
    total = sum(sum(inside.values()) for inside in counts.values())
    sentence = f"{pluralise(total, 'item')} of {pluralise(len(grid.rows), 'task')}"
    sentence += f", of which {unfilled:,} are not filled in yet." if unfilled else "."
    data = {"tasks": {k: dict(v) for k, v in counts.items()}, "unfilled": unfilled}
    return CommandOutput([sentence], [grid], data)


def _grouped_table(
    counts: Mapping[str, Mapping[str, int]], heads: Sequence[str], without: str, cells: Callable[[int], list[str]]
) -> OutputTable:
    rows: list[Row] = []
    breaks = set()
    for group, inside in counts.items():
        there = [name for name, number in inside.items() if number]
        if there and rows:
            breaks.add(len(rows))
        rows += [["" if at else group, n, *cells(inside[n])] for at, n in enumerate(there)]
    absent = [name for inside in counts.values() for name, number in inside.items() if not number]
    caption = f"{without}: {', '.join(absent)}." if absent else ""
    return OutputTable(heads, rows, caption=caption, text_columns=2, section_starts=frozenset(breaks))
