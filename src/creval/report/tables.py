"""A scorecard as a table: for a terminal, for a paper, for another program."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from creval.report import text
from creval.stats.scorecard import SAMPLE, Cell, Scorecard

Groups = Mapping[str, Sequence[str]]
"""Named groups of models; best and second are marked within each. Empty: all are one group."""

_RAISED = {0: " ", 1: "¹", 2: "²"}
_STYLES = {1: "bold", 2: "underline"}


def _blocks(card: Scorecard, groups: Groups) -> list[tuple[str, list[str]]]:
    """The groups with their models, best first; the models of no group come last."""
    named = [(head, [n for n in card.systems if n in members]) for head, members in groups.items()]
    taken = {name for _, members in named for name in members}
    return [*named, ("others", [name for name in card.systems if name not in taken])]


def ordered(card: Scorecard, groups: Groups) -> list[str]:
    """The models, best first, group by group."""
    return [name for _, members in _blocks(card, groups) for name in members]


def places(card: Scorecard, level: str, group: str, column: str, groups: Groups) -> dict[str, int]:
    """Which models are best (1) and second (2) in a cell's column, within their group."""
    better = card.table.card.higher_is_better(column)
    found: dict[str, int] = {}
    for _, members in _blocks(card, groups):
        values = {n: card.cell(n, column, group, level).value for n in members}
        there = sorted({round(v, 9) for v in values.values() if v is not None}, reverse=better)
        for name, number in values.items():
            if len(values) > 1 and number is not None and round(number, 9) in there[:2]:
                found[name] = there.index(round(number, 9)) + 1
    return found


def rich_tables(card: Scorecard, levels: Sequence[str], groups: Groups) -> Iterator[Table | Text]:
    """A table for each group, for a terminal: a value with its coverage, below it its interval."""
    for level in levels:
        if level == SAMPLE:
            yield _sample_lines(card)
            continue
        for group in card.groups(level):
            title = None if list(levels) == ["overall"] else Text(text.visible(group), "bold")
            yield _rich_table(card, level, group, groups, title)


def _sample_lines(card: Scorecard) -> Text:
    """All samples, a line for each model: thousands of rows take long to lay out as a table."""
    columns = card.table.card.columns
    names = {name: text.visible(name) for name in (*card.table.samples, *card.systems)}
    wide = [max(len(names[n]) for n in of) for of in (card.table.samples, card.systems)]
    head = "".join(f"{column:>16}" for column in columns)
    lines = [f"{'sample':{wide[0]}}  {'model':{wide[1]}}{head}"]
    for sample in card.table.samples:
        for name in card.systems:
            cells = (card.cell(name, column, sample, SAMPLE) for column in columns)
            shown = "".join(f"{text.value(c.value):>9} {text.coverage(c):>6}" for c in cells)
            lines.append(f"{names[sample]:{wide[0]}}  {names[name]:{wide[1]}}{shown}")
    return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def _rich_table(
    card: Scorecard, level: str, group: str, groups: Groups, title: Text | None
) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold", min_width=12)
    columns = card.table.card.columns
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    marks = {column: places(card, level, group, column, groups) for column in columns}
    heads = {members[0]: head for head, members in _blocks(card, groups) if members}
    for name in ordered(card, groups):
        if groups and name in heads:
            table.add_section()
            table.add_row(Text(text.visible(heads[name]), "italic"))
        cells = [
            _rich_cell(card.cell(name, column, group, level), marks[column].get(name, 0))
            for column in columns
        ]
        table.add_row(Text(text.visible(name)), *cells)
    return table


def _rich_cell(cell: Cell, place: int) -> Text:
    shown = (text.value(cell.value) + _RAISED[place], _STYLES.get(place, ""))
    below = text.interval(cell.low, cell.high)
    return Text.assemble(shown, (f" {text.coverage(cell):>6}\n{below}", "dim"))


def markdown_table(card: Scorecard, levels: Sequence[str], groups: Groups) -> str:
    """A Markdown table: best bold, second underlined."""
    marks = {1: ("**", "**"), 2: ("<u>", "</u>")}
    rows = _rows(card, levels, groups, marks, text.markdown)
    columns = card.table.card.columns
    lines = [["group", "model", *columns], ["---", "---", *["---:"] * len(columns)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_table(card: Scorecard, levels: Sequence[str], groups: Groups) -> str:
    """A LaTeX `tabular` for `booktabs`: best bold, second underlined."""
    marks = {1: (r"\textbf{", "}"), 2: (r"\underline{", "}"), 0: (r"{\scriptsize ", "}")}
    rows = _rows(card, levels, groups, marks, text.latex)
    columns = card.table.card.columns
    body = "".join(f"{' & '.join(row)} \\\\\n" for row in rows)
    head = " & ".join(["Group", "Model", *columns])
    return (
        f"\\begin{{tabular}}{{ll{'r' * len(columns)}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
        f"{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _rows(
    card: Scorecard,
    levels: Sequence[str],
    groups: Groups,
    marks: Mapping[int, tuple[str, str]],
    escape: Callable[[str], str],
) -> list[list[str]]:
    """Rows of text; `marks` go around the best, the second, and (0) what stands behind a value."""
    columns = card.table.card.columns
    before, after = marks.get(0, ("", ""))
    rows = []
    for level in levels:
        for group in card.groups(level):
            found = {column: places(card, level, group, column, groups) for column in columns}
            for name in ordered(card, groups):
                row = [escape(group), escape(name)]
                for column in columns:
                    cell = card.cell(name, column, group, level)
                    start, end = marks.get(found[column].get(name, -1), ("", ""))
                    ends = f"{text.interval(cell.low, cell.high)} ({text.coverage(cell)})".strip()
                    ends = ends.replace("%", escape("%"))
                    row.append(f"{start}{text.value(cell.value)}{end} {before}{ends}{after}")
                rows.append(row)
    return rows


def csv_table(card: Scorecard, levels: Sequence[str]) -> str:
    """A row a cell, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["level", "group", "model", "metric", "value", "low", "high", "scored", "total"]
    )
    for level, group, name, column, cell in card.rows(levels):
        words = [level, text.visible(group), text.visible(name), column]
        writer.writerow([*words, *("" if value is None else value for value in cell)])
    return out.getvalue()


def as_json(card: Scorecard, manifest: Mapping[str, Any], levels: Sequence[str]) -> dict[str, Any]:
    """Everything, unrounded: `models`, then level, group and metric."""
    table = card.table
    models: dict[str, Any] = {name: {} for name in card.systems}
    for level in levels:
        plural = "samples" if level == SAMPLE else table.card.level(level).plural
        for name in card.systems:
            found = {
                group: {
                    column: card.cell(name, column, group, level)._asdict()
                    for column in table.card.columns
                }
                for group in card.groups(level)
            }
            models[name][plural] = found["overall"] if level == "overall" else found
    return {
        "benchmark": manifest["benchmark"],
        "judge": manifest["judge"],
        "strict": table.strict,
        "subset": table.subset,
        "samples": len(table.samples),
        "weights": dict(table.card.rests_on(table.card.ranking)),
        "models": models,
        "differences": [
            {**found._asdict(), "decided": found.decided} for found in card.differences
        ],
    }
