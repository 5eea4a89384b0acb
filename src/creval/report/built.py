"""What a built benchmark consists of, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from creval.report.findings import Findings, Grid, Row
from creval.report.text import many


def operations(counts: Mapping[str, Mapping[str, int]], pictures: int) -> Findings:
    """How often each operation occurs, by category; those that never do are named below."""
    total = sum(sum(group.values()) for group in counts.values())
    rows: list[Row] = []
    breaks = set()
    for category, group in counts.items():
        there = {name: number for name, number in group.items() if number}
        if there and rows:
            breaks.add(len(rows))
        for at, (name, number) in enumerate(there.items()):
            share = f"{100 * number / total:.1f} %"
            rows.append(["" if at else category, name, f"{number:,}", share])
    absent = [name for group in counts.values() for name, number in group.items() if not number]
    caption = f"Never: {', '.join(absent)}." if absent else ""
    grid = Grid(
        ["category", "operation", "times", "share"], rows, caption=caption, left=2,
        breaks=frozenset(breaks),
    )  # fmt: skip
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
