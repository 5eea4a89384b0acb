"""Scorecards as tables: for a terminal, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from creval.analysis.correction import CorrectedScores
from creval.core import formatting
from creval.core.errors import CrevalError, require_known
from creval.reporting import numbers
from creval.reporting.output import BEST, ITALIC, SECOND, VALUES_ONLY, OutputTable, Row, TableCell
from creval.stats.scorecard import AVERAGE_MODEL, SAMPLE_LEVEL, Scorecard, ScoreEstimate
from creval.store.manifest import benchmark_title

ModelGroups = Mapping[str, Sequence[str]]
"""Named groups of models; best and second best are marked within each. If empty, all models form one group."""
SampleGroups = Sequence[tuple[str, str]]
"""Groups of samples shown in a table, as pairs of level and group."""

_MARGIN = 3  # characters between columns
_MIN_NAME_WIDTH = 12  # characters of the name column
_CELL_COLUMNS = ("value", "low", "high", "scored", "total")
_SUPERSCRIPTS = {0: " ", 1: "¹", 2: "²"}
_MARKS = {1: BEST, 2: SECOND}


def select_groups(card: Scorecard, names: Sequence[str]) -> SampleGroups:
    """Return the sample groups for names of levels (singular or plural) or of single groups."""
    schema, levels = card.table.schema, card.table.schema.levels
    known = {name: level.name for level in levels for name in (level.name, level.plural)}
    known |= {SAMPLE_LEVEL: SAMPLE_LEVEL, "samples": SAMPLE_LEVEL}
    alone = [(level.name, group) for level in levels for group in level.groups]
    titled = {schema.group_title(*place): place for place in alone}
    found: list[tuple[str, str]] = []
    for name in names:
        same = [titled[name]] if name in titled else [place for place in alone if place[1] == name]
        if len(same) > 1 and name not in known:
            raise CrevalError(f"several levels have a group {name!r}. Use {_list_titles(card, same)}.")
        if same and name not in known:
            found += same
            continue
        shown = [*(level.name for level in levels), SAMPLE_LEVEL, *titled]
        level = known[name] if name in known else require_known("level or group", name, shown)
        found += [(level, group) for group in card.groups(level)]
    return found


def _list_titles(card: Scorecard, places: SampleGroups) -> str:
    return " or ".join(f'"{card.table.schema.group_title(*place)}"' for place in places)


def visible_columns(card: Scorecard) -> list[str]:
    """Return all columns, except metrics that have no score and are not used by the ranking column."""
    table = card.table
    came = table.scored.sum(axis=(0, 1)) > 0
    empty = {metric.name for metric, here in zip(table.schema.metrics, came, strict=True) if not here}
    empty -= set(table.schema.component_weights(table.schema.ranking_column))
    return [column for column in table.schema.columns if column not in empty]


def columns_with_data(card: Scorecard, sample_groups: SampleGroups) -> list[str]:
    """Return the visible columns that have questions or measurements in at least one of the groups."""
    there: set[str] = set()
    for level, group in sample_groups:
        if level == SAMPLE_LEVEL:
            return visible_columns(card)
        at = card.table.schema.find_level(level).groups.index(group)
        total = card.levels[level]["total"][at].sum(axis=0)
        there |= {c for c, n in zip(card.table.schema.columns, total, strict=True) if n > 0}
    return [column for column in visible_columns(card) if column in there]


def _model_blocks(card: Scorecard, model_groups: ModelGroups) -> list[tuple[str, list[str]]]:
    """Return the groups of models, each with its models, best first.

    Models that are in no group come last, as `others`.
    """
    named = [(head, [n for n in card.models if n in members]) for head, members in model_groups.items()]
    taken = {name for _, members in named for name in members}
    return [*named, ("others", [name for name in card.models if name not in taken])]


def order_models(card: Scorecard, model_groups: ModelGroups) -> list[str]:
    """Return the models group by group, best first within each."""
    return [name for _, members in _model_blocks(card, model_groups) for name in members]


def row_names(card: Scorecard, model_groups: ModelGroups, level: str = "") -> list[str]:
    """Return the names of a table's rows.

    Models are listed by group, each group followed by its mean. Differences between groups and the average come last.
    """
    sets = {one.members: one.name for one in card.model_sets if not one.minus and one.name in card.set_names(level)}
    found: list[str] = []
    for head, members in _model_blocks(card, model_groups):
        found += members
        mean = sets.get(tuple(model_groups.get(head, ())))
        found += [mean] if mean else []
    return [*found, *(name for name in card.set_names(level) if name not in found)]


def first_of_sets(card: Scorecard, names: Sequence[str]) -> str:
    """Return the first row of the last section, which contains differences between groups and the average.

    Empty if there is no such row.
    """
    last = max((at for at, name in enumerate(names) if name in card.table.models), default=-1)
    sets = {one.name: one for one in card.model_sets}
    below = (name for name in names[last + 1 :] if sets[name].minus or name == AVERAGE_MODEL)
    return next(below, "")


def best_and_second(card: Scorecard, level: str, group: str, column: str, model_groups: ModelGroups) -> dict[str, int]:
    """Return which models are best (1) and second best (2) in a column, within their group of models."""
    better = card.table.schema.higher_is_better(column)
    found: dict[str, int] = {}
    for _, members in _model_blocks(card, model_groups):
        values = {n: card.cell(n, column, group, level).value for n in members}
        there = sorted({round(v, 9) for v in values.values() if v is not None}, reverse=better)
        for name, number in values.items():
            if len(values) > 1 and number is not None and round(number, 9) in there[:2]:
                found[name] = there.index(round(number, 9)) + 1
    return found


class ScoreColumn:
    """One column of a table: a sample group and a metric, with marks for best and second best."""

    def __init__(self, card: Scorecard, level: str, group: str, column: str, model_groups: ModelGroups):
        self.card, self.level, self.group, self.column = card, level, group, column
        self.title = card.table.schema.group_title(level, group)
        self.marks = best_and_second(card, level, group, column, model_groups)
        self.digits = card.table.schema.find_metric(column).digits
        minus = level != SAMPLE_LEVEL and card.table.schema.find_level(level).difference_of is not None
        self.sign = "+" if minus else ""

    def cell(self, name: str) -> ScoreEstimate:
        return self.card.cell(name, self.column, self.group, self.level)

    def sign_of(self, name: str) -> str:
        """Return the sign format of a row. Rows of differences show a plus sign before positive values."""
        return "+" if any(one.name == name and one.minus for one in self.card.model_sets) else self.sign

    def value(self, name: str) -> str:
        return formatting.format_value(self.cell(name).value, self.digits, self.sign_of(name))

    def interval(self, name: str) -> str:
        cell = self.cell(name)
        return formatting.format_interval(cell.low, cell.high, self.digits, self.sign_of(name))


def score_columns(
    card: Scorecard, sample_groups: SampleGroups, model_groups: ModelGroups, *, ranking_first: bool = False
) -> list[ScoreColumn]:
    rank = card.table.schema.ranking_column
    return [
        ScoreColumn(card, level, group, column, model_groups)
        for level, group in sample_groups
        for column in sorted(columns_with_data(card, [(level, group)]), key=lambda c: ranking_first and c != rank)
    ]


def score_tables(
    card: Scorecard,
    sample_groups: SampleGroups,
    model_groups: ModelGroups,
    *,
    width: int = 0,
    ranking_first: bool = False,
) -> Iterator[OutputTable]:
    """Yield tables of values with their coverage and intervals.

    Without `width` there is one table per sample group. With `width`, a table holds as many groups as fit in
    `width` characters. `ranking_first` puts the ranking column first.
    """
    rest = [pair for pair in sample_groups if pair[0] != SAMPLE_LEVEL]
    for pairs in _split_by_width(card, rest, model_groups, width) if width else [[pair] for pair in rest]:
        title = "" if width or rest == [("overall", "overall")] else card.table.schema.group_title(*pairs[0])
        columns = score_columns(card, pairs, model_groups, ranking_first=ranking_first)
        yield _score_table(card, columns, model_groups, title, wide=bool(width))


def _split_by_width(
    card: Scorecard, sample_groups: SampleGroups, model_groups: ModelGroups, width: int
) -> Iterator[SampleGroups]:
    """Yield the sample groups in parts that each fit in a table of this width."""
    names = row_names(card, model_groups)
    taken = first = max(_MIN_NAME_WIDTH, *map(len, names)) + _MARGIN
    fitting: list[tuple[str, str]] = []
    for pair in sample_groups:
        needed = 0
        for spot in score_columns(card, [pair], model_groups):
            cells = [_table_cell(spot, name) for name in names]
            lines = (line for cell in cells for line in (cell.text, cell.below))
            texts = [formatting.escape_control(spot.title), *lines]
            needed += max(map(len, texts)) + _MARGIN
        if fitting and taken + needed > width:
            yield fitting
            taken, fitting = first, []
        taken += needed
        fitting.append(pair)
    if fitting:
        yield fitting


def format_sample_lines(card: Scorecard, sample_groups: SampleGroups) -> Iterator[str]:
    """Yield a line of text per sample and model. Laying out thousands of rows as a rich table is slow."""
    samples = [group for level, group in sample_groups if level == SAMPLE_LEVEL]
    if not samples:
        return
    names = {name: formatting.escape_control(name) for name in (*samples, *card.models)}
    wide = [max(len(names[n]) for n in of) for of in (samples, card.models)]
    digits = {column: card.table.schema.find_metric(column).digits for column in visible_columns(card)}
    head = "".join(f"{column:>16}" for column in digits)
    yield f"{'sample':{wide[0]}}  {'model':{wide[1]}}{head}"
    for sample in samples:
        for name in card.models:
            row = f"{names[sample]:{wide[0]}}  {names[name]:{wide[1]}}"
            for column, wanted in digits.items():
                cell = card.cell(name, column, sample, SAMPLE_LEVEL)
                row += f"{formatting.format_value(cell.value, wanted):>9} {numbers.format_coverage(cell):>6}"
            yield row


def _score_table(
    card: Scorecard,
    score_columns: Sequence[ScoreColumn],
    model_groups: ModelGroups,
    title: str = "",
    *,
    wide: bool = False,
) -> OutputTable:
    heads = model_heads(card, model_groups)
    rows: list[Row] = []
    breaks = set()
    names = row_names(card, model_groups)
    for name in names:
        if name in heads:
            breaks.add(len(rows))
            rows.append([TableCell(heads[name], mark=ITALIC), *([""] * len(score_columns))])
        if name == first_of_sets(card, names):
            breaks.add(len(rows))
        rows.append([name, *(_table_cell(spot, name) for spot in score_columns)])
    columns = [f"{spot.title}\n{spot.column}" if wide else spot.column for spot in score_columns]
    return OutputTable(["model", *columns], rows, title, section_starts=frozenset(breaks))


def _table_cell(column: ScoreColumn, name: str) -> TableCell:
    cell, place = column.cell(name), column.marks.get(name, 0)
    shown = f"{column.value(name)}{_SUPERSCRIPTS[place]}"
    return TableCell(shown, column.interval(name), _MARKS.get(place, ""), f" {numbers.format_coverage(cell):>6}")


def tables_by_group(card: Scorecard, level: str) -> Iterator[OutputTable]:
    """Yield a table per metric: a row for each group of the level, a column for each model."""
    for column in visible_columns(card):
        spots = score_columns(card, [(level, group) for group in card.groups(level)], {})
        rows: list[Row] = [
            [spot.group, *(_table_cell(spot, name) for name in card.models)] for spot in spots if spot.column == column
        ]
        if rows:
            yield OutputTable([level.replace("_", " "), *card.models], rows, column)


def markdown_table(
    card: Scorecard,
    sample_groups: SampleGroups,
    model_groups: ModelGroups,
    *,
    wide: bool = False,
    values_only: bool = False,
) -> str:
    """Return a Markdown table: best bold, second best underlined. Each group of models starts with its name."""
    heads = model_heads(card, model_groups)
    spots = score_columns(card, sample_groups, model_groups) if wide else []
    columns = columns_with_data(card, sample_groups)
    escape = formatting.escape_markdown
    head = ["model", *(f"{escape(spot.title)} {spot.column}" for spot in spots)]
    rows: list[list[str]] = []
    blocks = [("", spots)] if wide else list(_group_blocks(card, sample_groups, columns, model_groups))
    if not wide:
        head = ["group", "model", *columns]
    words = 1 if wide else 2
    for group, block in blocks:
        for name in row_names(card, model_groups, block[0].level if block else ""):
            first = [] if wide else [escape(group)]
            if name in heads:
                rows.append([*first, f"*{escape(heads[name])}*", *([""] * len(block))])
            rows.append([*first, escape(name), *(_markdown_cell(spot, name, values_only) for spot in block)])
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    body = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
    return f"{body}\n{VALUES_ONLY}\n" if values_only else body


def _markdown_cell(spot: ScoreColumn, name: str, values_only: bool) -> str:
    cell = spot.cell(name)
    start, end = {1: ("**", "**"), 2: ("<u>", "</u>")}.get(spot.marks.get(name, 0), ("", ""))
    rest = "" if values_only else f"{spot.interval(name)} ({numbers.format_coverage(cell)})".strip()
    return f"{start}{spot.value(name)}{end} {rest}".rstrip()


def model_heads(card: Scorecard, model_groups: ModelGroups) -> dict[str, str]:
    """Map the first model of each group of models to the group's name. Empty without groups of models."""
    return {members[0]: head for head, members in _model_blocks(card, model_groups) if members} if model_groups else {}


def _group_blocks(
    card: Scorecard, sample_groups: SampleGroups, columns: Sequence[str], model_groups: ModelGroups
) -> Iterator[tuple[str, list[ScoreColumn]]]:
    """Yield each sample group's title and columns."""
    for level, group in sample_groups:
        title = card.table.schema.group_title(level, group)
        yield title, [ScoreColumn(card, level, group, column, model_groups) for column in columns]


def csv_table(
    card: Scorecard, sample_groups: SampleGroups, model_groups: ModelGroups | None = None, *, values_only: bool = False
) -> str:
    """Return a CSV row per cell, unrounded, with a column `model_group` if there are groups of models."""
    heads = _groups_by_model(card, model_groups or {})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    more = ["model_group"] if heads else []
    numbers_shown = 1 if values_only else 5
    writer.writerow(["level", "group", "model", "metric", *_CELL_COLUMNS[:numbers_shown], *more])
    for level, group in sample_groups:
        for name in row_names(card, {}, level):
            for column in card.table.schema.columns:
                cell = card.cell(name, column, group, level)
                words = [level, formatting.escape_control(group), formatting.escape_control(name), column]
                values = ["" if value is None else value for value in cell.to_dict().values()][:numbers_shown]
                writer.writerow([*words, *values, *([heads.get(name, "")] if heads else [])])
    return out.getvalue()


def _groups_by_model(card: Scorecard, model_groups: ModelGroups) -> dict[str, str]:
    """Map each model to the name of its group of models. The names are escaped for use in a file."""
    if not model_groups:
        return {}
    blocks = _model_blocks(card, model_groups)
    found = {name: formatting.escape_control(head) for head, members in blocks for name in members}
    means = {tuple(members): formatting.escape_control(head) for head, members in model_groups.items()}
    return found | {one.name: means[one.members] for one in card.model_sets if not one.minus and one.members in means}


def scorecard_json(card: Scorecard, manifest: Mapping[str, Any], sample_groups: SampleGroups) -> dict[str, Any]:
    """Return all scores, unrounded, under `models`, level, group and metric."""
    table = card.table
    found: dict[str, Any] = {name: {} for name in row_names(card, {})}
    for level, group in sample_groups:
        plural = "samples" if level == SAMPLE_LEVEL else table.schema.find_level(level).plural
        for name in row_names(card, {}, level):
            cells = {column: card.cell(name, column, group, level).to_dict() for column in table.schema.columns}
            if level == "overall":
                found[name][plural] = cells
            else:
                found[name].setdefault(plural, {})[group] = cells
    for name, label in manifest.get("labels", {}).items():
        if name in found:
            found[name]["label"] = label
    sets = {one: found.pop(one.name) for one in card.model_sets}
    gaps = {one.name: cells for one, cells in sets.items() if one.minus}
    means = {one.name: cells for one, cells in sets.items() if not one.minus}
    average = {"average": means.pop(AVERAGE_MODEL)} if card.includes_average else {}
    return {
        "benchmark": manifest["benchmark"],
        "title": benchmark_title(manifest),
        "protocol": manifest.get("protocol", manifest["benchmark"]),
        "judge": manifest["judge"],
        "strict": table.strict,
        "subset": table.subset,
        "samples": len(table.samples),
        "weights": dict(table.schema.component_weights(table.schema.ranking_column)),
        "formula": table.schema.formula,
        "places": {name: list(places) for name, places in card.rank_ranges.items()},
        "alike": [list(names) for names in card.indistinguishable],
        "models": found,
        **average,
        **({"group_means": means, "group_gaps": gaps} if means else {}),
        "differences": [{**found.to_dict(), "decided": found.is_decided} for found in card.differences],
    }


def corrected_tables(card: Scorecard, corrected: CorrectedScores, sample_groups: SampleGroups) -> Iterator[OutputTable]:
    """Yield a table of corrected scores for each sample group."""
    for level, group in sample_groups:
        if (level, group, card.models[0], card.table.schema.ranking_column) not in corrected.cells:
            continue
        digits = {column: card.table.schema.find_metric(column).digits for column in visible_columns(card)}
        rows: list[Row] = [
            [name, *(numbers.estimate_cell(corrected.cells[level, group, name, c], digits[c]) for c in digits)]
            for name in card.models
        ]
        title = f"corrected{'' if level == 'overall' else f', {group}'}"
        yield OutputTable(["model", *digits], rows, title)


def corrected_json(corrected: CorrectedScores, sample_groups: SampleGroups) -> dict[str, Any]:
    """Return the corrected scores, unrounded."""
    names = ("level", "group", "model", "metric", "value", "low", "high")
    cells = [
        dict(zip(names, (*place, cell.value, *cell.interval), strict=True))
        for place, cell in corrected.cells.items()
        if place[:2] in sample_groups
    ]
    return {"corrected": cells, "calibrated": corrected.judge}
