"""What a built benchmark consists of, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from creval.core.formatting import many
from creval.report.output import Findings, Grid, Row


def operations(counts: Mapping[str, Mapping[str, int]], pictures: int) -> Findings:
    """How often each operation occurs, by category; those that never do are named below."""
    total = sum(sum(group.values()) for group in counts.values())
    heads = ["category", "operation", "times", "share"]
    grid = _grouped(counts, heads, "Never", lambda n: [f"{n:,}", f"{100 * n / total:.1f} %"])
    sentence = f"{many(pictures, 'picture')}, {many(total, 'atomic instruction')}."
    data = {"pictures": pictures, "operations": {k: dict(group) for k, group in counts.items()}}
    return Findings([sentence], [grid], data)


def edit_types(counts: Mapping[str, Mapping[str, int]], kinds: Sequence[str]) -> Findings:
    """How often each edit type occurs in each subset."""
    rows: list[Row] = [
        [kind, *(f"{group.get(kind, 0):,}" for group in counts.values())] for kind in kinds
    ]
    total = [sum(group.values()) for group in counts.values()]
    rows.append(["all", *(f"{number:,}" for number in total)])
    grid = Grid(["edit type", *counts], rows, breaks=frozenset({len(kinds)}))
    sentence = f"{many(sum(total), 'step')} in {many(sum(map(bool, total)), 'subset')}."
    return Findings([sentence], [grid], {"edit_types": {k: dict(v) for k, v in counts.items()}})


def tasks(counts: Mapping[str, Mapping[str, int]], unfilled: int) -> Findings:
    """How many items each of ICE-Bench's tasks has, by group; those without are named below."""
    grid = _grouped(counts, ["group", "task", "items"], "No items", lambda n: [f"{n:,}"])
    total = sum(sum(inside.values()) for inside in counts.values())
    sentence = f"{many(total, 'item')} of {many(len(grid.rows), 'task')}"
    sentence += f", of which {unfilled:,} wait to be filled in." if unfilled else "."
    data = {"tasks": {k: dict(v) for k, v in counts.items()}, "unfilled": unfilled}
    return Findings([sentence], [grid], data)


def _grouped(
    counts: Mapping[str, Mapping[str, int]], heads: Sequence[str], without: str,
    cells: Callable[[int], list[str]],
) -> Grid:  # fmt: skip
    rows: list[Row] = []
    breaks = set()
    for group, inside in counts.items():
        there = [name for name, number in inside.items() if number]
        if there and rows:
            breaks.add(len(rows))
        rows += [["" if at else group, n, *cells(inside[n])] for at, n in enumerate(there)]
    absent = [name for inside in counts.values() for name, number in inside.items() if not number]
    caption = f"{without}: {', '.join(absent)}." if absent else ""
    return Grid(heads, rows, caption=caption, left=2, breaks=frozenset(breaks))
