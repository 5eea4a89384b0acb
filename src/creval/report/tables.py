"""A scorecard as a table: for a terminal, for a paper, for another program."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from creval.analysis.correction import Corrected
from creval.core import formatting
from creval.core.errors import known_name
from creval.report import numbers
from creval.report.output import ASIDE, BEST, SECOND, Grid, Row, Spot
from creval.stats.scorecard import AVERAGE, SAMPLE, Cell, Scorecard

Groups = Mapping[str, Sequence[str]]
"""Named groups of models; best and second are marked within each. Empty: all are one group."""
Shown = Sequence[tuple[str, str]]
"""The groups of samples that a table shows, each with its level."""

_MARGIN = 3  # characters between columns
_SHORTEST = 12  # characters of the column of names
_RAISED = {0: " ", 1: "¹", 2: "²"}
_MARKS = {1: BEST, 2: SECOND}


def chosen(card: Scorecard, names: Sequence[str]) -> Shown:
    """The groups that names stand for: of a level, in the singular or the plural, or by themselves.

    Groups without samples are left out.
    """
    levels = card.table.card.levels
    known = {name: level.name for level in levels for name in (level.name, level.plural)}
    known |= {SAMPLE: SAMPLE, "samples": SAMPLE}
    alone = {group: level.name for level in levels for group in level.groups}
    found: list[tuple[str, str]] = []
    for name in names:
        if name in alone and name not in known:
            found.append((alone[name], name))
            continue
        shown = [*(level.name for level in levels), SAMPLE, *alone]
        level = known[name] if name in known else known_name("level or group", name, shown)
        found += [(level, group) for group in card.groups(level)]
    return found


def columns(card: Scorecard) -> list[str]:
    """The columns to show: all but those of which nothing came and on which no rank rests."""
    table = card.table
    came = table.scored.sum(axis=(0, 1)) > 0
    needed = table.card.rests_on(table.card.ranking)
    empty = {
        metric.name
        for metric, here in zip(table.card.metrics, came, strict=True)
        if not here and metric.name not in needed
    }
    return [column for column in table.card.columns if column not in empty]


def _belonging(card: Scorecard, shown: Shown) -> list[str]:
    """Those of the columns that one of these groups of samples has something for."""
    there: set[str] = set()
    for level, group in shown:
        if level == SAMPLE:
            return columns(card)
        at = card.table.card.level(level).groups.index(group)
        total = card.levels[level]["total"][at].sum(axis=0)
        there |= {c for c, n in zip(card.table.card.columns, total, strict=True) if n > 0}
    return [column for column in columns(card) if column in there]


def _blocks(card: Scorecard, groups: Groups) -> list[tuple[str, list[str]]]:
    """The groups with their models, best first; the models of no group come last."""
    named = [(head, [n for n in card.systems if n in members]) for head, members in groups.items()]
    taken = {name for _, members in named for name in members}
    return [*named, ("others", [name for name in card.systems if name not in taken])]


def ordered(card: Scorecard, groups: Groups) -> list[str]:
    """The models, best first, group by group."""
    return [name for _, members in _blocks(card, groups) for name in members]


def _lines(card: Scorecard, groups: Groups, level: str = "") -> list[str]:
    """The models, and their average where that was wanted; single samples have none."""
    average = card.average and level != SAMPLE
    return [*ordered(card, groups), *([AVERAGE] if average else [])]


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


class _Spot:
    """One column of a table: a group of samples and a metric, with who is best and second."""

    def __init__(self, card: Scorecard, level: str, group: str, column: str, groups: Groups):
        self.card, self.level, self.group, self.column = card, level, group, column
        self.marks = places(card, level, group, column, groups)
        self.digits = card.table.card.metric(column).digits
        minus = level != SAMPLE and card.table.card.level(level).minus is not None
        self.sign = "+" if minus else ""

    def cell(self, name: str) -> Cell:
        return self.card.cell(name, self.column, self.group, self.level)

    def value(self, cell: Cell) -> str:
        return formatting.value(cell.value, self.digits, self.sign)

    def ends(self, cell: Cell) -> str:
        return formatting.interval(cell.low, cell.high, self.digits, self.sign)


def _spots(card: Scorecard, shown: Shown, groups: Groups, *, leading: bool = False) -> list[_Spot]:
    rank = card.table.card.ranking
    return [
        _Spot(card, level, group, column, groups)
        for level, group in shown
        for column in sorted(
            _belonging(card, [(level, group)]), key=lambda column: leading and column != rank
        )
    ]


def grids(
    card: Scorecard, shown: Shown, groups: Groups, *, wide: int = 0, leading: bool = False
) -> Iterator[Grid]:
    """A value with its coverage, below it its interval.

    A table for each group of samples or, where `wide` gives a terminal's width, as many of them
    beside each other as it has room for. With `leading` the column that ranks comes first.
    """
    rest = [pair for pair in shown if pair[0] != SAMPLE]
    if wide:
        for pairs in _fitting(card, rest, groups, wide):
            spots = _spots(card, pairs, groups, leading=leading)
            yield _grid(card, spots, groups, wide=True)
        return
    for pair in rest:
        title = "" if rest == [("overall", "overall")] else pair[1]
        yield _grid(card, _spots(card, [pair], groups, leading=leading), groups, title)


def _fitting(card: Scorecard, shown: Shown, groups: Groups, wide: int) -> Iterator[Shown]:
    """The groups of samples, as many at a time as a table of this width has room for."""
    names = _lines(card, groups)
    taken = first = max(_SHORTEST, *map(len, names)) + _MARGIN
    fitting: list[tuple[str, str]] = []
    for pair in shown:
        needed = 0
        for spot in _spots(card, [pair], groups):
            cells = [_cell(spot, name) for name in names]
            lines = (line for cell in cells for line in (cell.text, cell.below))
            texts = [formatting.visible(spot.group), *lines]
            needed += max(map(len, texts)) + _MARGIN
        if fitting and taken + needed > wide:
            yield fitting
            taken, fitting = first, []
        taken += needed
        fitting.append(pair)
    if fitting:
        yield fitting


def sample_lines(card: Scorecard, shown: Shown) -> Iterator[str]:
    """Samples, a line for each model: thousands of rows take long to lay out as a table."""
    samples = [group for level, group in shown if level == SAMPLE]
    if not samples:
        return
    names = {name: formatting.visible(name) for name in (*samples, *card.systems)}
    wide = [max(len(names[n]) for n in of) for of in (samples, card.systems)]
    digits = {column: card.table.card.metric(column).digits for column in columns(card)}
    head = "".join(f"{column:>16}" for column in digits)
    yield f"{'sample':{wide[0]}}  {'model':{wide[1]}}{head}"
    for sample in samples:
        for name in card.systems:
            row = f"{names[sample]:{wide[0]}}  {names[name]:{wide[1]}}"
            for column, wanted in digits.items():
                cell = card.cell(name, column, sample, SAMPLE)
                row += f"{formatting.value(cell.value, wanted):>9} {numbers.coverage(cell):>6}"
            yield row


def _grid(
    card: Scorecard, spots: Sequence[_Spot], groups: Groups, title: str = "", *, wide: bool = False
) -> Grid:
    heads = {members[0]: head for head, members in _blocks(card, groups) if members}
    rows: list[Row] = []
    breaks = set()
    for name in _lines(card, groups):
        if groups and name in heads:
            breaks.add(len(rows))
            rows.append([Spot(heads[name], mark=ASIDE), *([""] * len(spots))])
        if name == AVERAGE:
            breaks.add(len(rows))
        rows.append([name, *(_cell(spot, name) for spot in spots)])
    columns = [f"{spot.group}\n{spot.column}" if wide else spot.column for spot in spots]
    return Grid(["model", *columns], rows, title, breaks=frozenset(breaks))


def _cell(spot: _Spot, name: str) -> Spot:
    cell, place = spot.cell(name), spot.marks.get(name, 0)
    shown = f"{spot.value(cell)}{_RAISED[place]}"
    return Spot(shown, spot.ends(cell), _MARKS.get(place, ""), f" {numbers.coverage(cell):>6}")


def by_group(card: Scorecard, level: str) -> Iterator[Grid]:
    """A table for each column: the groups of a level below each other, the models beside."""
    for column in columns(card):
        spots = _spots(card, [(level, group) for group in card.groups(level)], {})
        rows: list[Row] = [
            [spot.group, *(_cell(spot, name) for name in card.systems)]
            for spot in spots
            if spot.column == column
        ]
        if rows:
            yield Grid([level.replace("_", " "), *card.systems], rows, column)


def markdown_table(card: Scorecard, shown: Shown, groups: Groups, *, wide: bool = False) -> str:
    """A Markdown table: best bold, second underlined."""
    marks = {1: ("**", "**"), 2: ("<u>", "</u>")}
    head, rows = _rows(card, shown, groups, marks, formatting.markdown, wide)
    words = 1 if wide else 2
    head = [name.strip() for name in head]
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))


def latex_table(card: Scorecard, shown: Shown, groups: Groups, *, wide: bool = False) -> str:
    """A LaTeX `tabular` for `booktabs`: best bold, second underlined."""
    marks = {1: (r"\textbf{", "}"), 2: (r"\underline{", "}"), 0: (r"{\scriptsize ", "}")}
    head, rows = _rows(card, shown, groups, marks, formatting.latex, wide)
    words = 1 if wide else 2
    lines = [" & ".join(head[:words]).title() + " & " + " & ".join(head[words:])]
    if wide:
        each = [(group, _belonging(card, [(level, group)])) for level, group in shown]
        over = [
            f"\\multicolumn{{{len(of)}}}{{c}}{{{formatting.latex(group)}}}" for group, of in each
        ]
        under = [column for _, of in each for column in of]
        lines = [" & ".join(["", *over]), " & ".join(["Model", *under])]
    top = "".join(f"{line} \\\\\n" for line in lines)
    body = "".join(f"{' & '.join(row)} \\\\\n" for row in rows)
    layout = "l" * words + "r" * (len(head) - words)
    return (
        f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{top}\\midrule\n"
        f"{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _rows(
    card: Scorecard,
    shown: Shown,
    groups: Groups,
    marks: Mapping[int, tuple[str, str]],
    escape: Callable[[str], str],
    wide: bool,
) -> tuple[list[str], list[list[str]]]:
    """A head and rows of text; `marks` go around the best, the second, and (0) what stands behind
    a value."""
    before, after = marks.get(0, ("", ""))

    def row(name: str, spots: Sequence[_Spot]) -> Iterator[str]:
        for spot in spots:
            cell = spot.cell(name)
            start, end = marks.get(spot.marks.get(name, -1), ("", ""))
            ends = f"{spot.ends(cell)} ({numbers.coverage(cell)})".strip().replace("%", escape("%"))
            yield f"{start}{spot.value(cell)}{end} {before}{ends}{after}"

    if wide:
        names = _lines(card, groups)
        spots = _spots(card, shown, groups)
        head = ["model", *(f"{escape(spot.group)} {spot.column}" for spot in spots)]
        return head, [[escape(name), *row(name, spots)] for name in names]
    rows = []
    heads = _belonging(card, shown)
    for level, group in shown:
        spots = [_Spot(card, level, group, column, groups) for column in heads]
        for name in _lines(card, groups, level):
            rows.append([escape(group), escape(name), *row(name, spots)])
    return ["group", "model", *heads], rows


def csv_table(card: Scorecard, shown: Shown) -> str:
    """A row a cell, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["level", "group", "model", "metric", "value", "low", "high", "scored", "total"]
    )
    for level, group in shown:
        for name in _lines(card, {}, level):
            for column in card.table.card.columns:
                cell = card.cell(name, column, group, level)
                words = [level, formatting.visible(group), formatting.visible(name), column]
                writer.writerow([*words, *("" if value is None else value for value in cell)])
    return out.getvalue()


def as_json(card: Scorecard, manifest: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
    """Everything, unrounded: `models`, then level, group and metric."""
    table = card.table
    found: dict[str, Any] = {name: {} for name in _lines(card, {})}
    for level, group in shown:
        plural = "samples" if level == SAMPLE else table.card.level(level).plural
        for name in _lines(card, {}, level):
            levels = found[name]
            cells = {
                column: card.cell(name, column, group, level)._asdict()
                for column in table.card.columns
            }
            if level == "overall":
                levels[plural] = cells
            else:
                levels.setdefault(plural, {})[group] = cells
    average = {"average": found.pop(AVERAGE)} if card.average else {}
    return {
        "benchmark": manifest["benchmark"],
        "protocol": manifest.get("protocol", manifest["benchmark"]),
        "judge": manifest["judge"],
        "strict": table.strict,
        "subset": table.subset,
        "samples": len(table.samples),
        "weights": dict(table.card.rests_on(table.card.ranking)),
        "formula": table.card.formula,
        "places": {name: list(places) for name, places in card.places.items()},
        "alike": [list(names) for names in card.alike],
        "models": found,
        **average,
        "differences": [
            {**found._asdict(), "decided": found.decided} for found in card.differences
        ],
    }


def corrected_grids(card: Scorecard, found: Corrected, shown: Shown) -> Iterator[Grid]:
    """Corrected scores beside the raw ones, a table for each group of samples."""
    for level, group in shown:
        if (level, group, card.systems[0], card.table.card.ranking) not in found.cells:
            continue
        rows: list[Row] = []
        for name in card.systems:
            row: Row = [name]
            for column in columns(card):
                cell = found.cells[level, group, name, column]
                digits = card.table.card.metric(column).digits
                ends = formatting.interval(cell.low, cell.high, digits)
                row.append(Spot(formatting.value(cell.value, digits), ends))
            rows.append(row)
        title = f"corrected{'' if level == 'overall' else f', {group}'}"
        yield Grid(["model", *columns(card)], rows, title)


def corrected_json(found: Corrected, shown: Shown) -> dict[str, Any]:
    """Corrected scores, unrounded."""
    cells = [
        {"level": level, "group": group, "model": name, "metric": column, "value": cell.value,
         "low": cell.low, "high": cell.high}
        for (level, group, name, column), cell in found.cells.items()
        if (level, group) in shown
    ]  # fmt: skip
    return {"corrected": cells, "calibrated": found.judge}
