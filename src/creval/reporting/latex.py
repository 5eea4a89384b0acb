"""LaTeX tables of a scorecard for `booktabs`: groups as headings, best bold, second best underlined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from creval.core import formatting
from creval.core.schema import Digits
from creval.reporting import numbers
from creval.reporting.output import VALUES_ONLY
from creval.reporting.tables import (
    ModelGroups,
    SampleGroups,
    ScoreColumn,
    columns_with_data,
    first_of_sets,
    model_heads,
    row_names,
    score_columns,
)
from creval.stats.scorecard import Scorecard, ScoreEstimate

_MAX_SHOWN_COVERAGE = 0.995
"""A compact table shows a coverage below this."""
_NARROW = "{\\footnotesize\\setlength{\\tabcolsep}{2pt}%\n"
"""Font and spacing so that four metrics with half-widths fit a column, and the values of twelve a page."""
_MARKS = {1: r"\textbf{%s}", 2: r"\underline{%s}"}


class LatexCells(str, Enum):
    """Content of a cell: value, interval and coverage; value with a half-width; or the value alone."""

    FULL = "full"
    COMPACT = "compact"
    VALUES = "values"


def latex_table(
    card: Scorecard,
    sample_groups: SampleGroups,
    model_groups: ModelGroups,
    *,
    wide: bool = False,
    cells: LatexCells = LatexCells.FULL,
) -> str:
    """Return a `tabular`. Sample groups are stacked under headings or, if `wide`, placed side by side."""
    spots = score_columns(card, sample_groups, model_groups) if wide else []
    columns = columns_with_data(card, sample_groups)
    count = len(spots) if wide else len(columns)
    lines = list(_wide_head(spots) if wide else [_row(["Model", *map(formatting.escape_latex, columns)])])
    lines.append(r"\midrule")
    if wide:
        lines += _block(card, spots, model_groups, cells)
    several = len(sample_groups) > 1 or sample_groups[0][0] != "overall"
    for at, (level, group) in enumerate(() if wide else sample_groups):
        if several:
            lines += [r"\addlinespace"] if at else []
            lines.append(_heading(card.table.schema.group_title(level, group), count))
        block = [ScoreColumn(card, level, group, column, model_groups) for column in columns]
        lines += _block(card, block, model_groups, cells)
    note = [_row([f"\\multicolumn{{{count + 1}}}{{@{{}}l}}{{\\footnotesize {VALUES_ONLY}}}"])]
    body = "\n".join(["\\toprule", *lines, "\\bottomrule", *(note if cells is LatexCells.VALUES else [])])
    made = f"\\begin{{tabular}}{{@{{}}l{'r' * count}@{{}}}}\n{body}\n\\end{{tabular}}\n"
    return made if cells is LatexCells.FULL else f"{_NARROW}{made}}}\n"


def _wide_head(spots: Sequence[ScoreColumn]) -> Iterator[str]:
    """Yield the header: the groups with a rule below each, then the metrics."""
    groups: list[tuple[str, int]] = []
    for spot in spots:
        if groups and groups[-1][0] == spot.title:
            groups[-1] = spot.title, groups[-1][1] + 1
        else:
            groups.append((spot.title, 1))
    over = [f"\\multicolumn{{{wide}}}{{c}}{{{formatting.escape_latex(group)}}}" for group, wide in groups]
    yield _row(["", *over])
    rules, begin = [], 2
    for _, wide in groups:
        rules.append(f"\\cmidrule(lr){{{begin}-{begin + wide - 1}}}")
        begin += wide
    yield "".join(rules)
    yield _row(["Model", *(formatting.escape_latex(spot.column) for spot in spots)])


def _block(
    card: Scorecard, spots: Sequence[ScoreColumn], model_groups: ModelGroups, cells: LatexCells
) -> Iterator[str]:
    """Yield a row per model. Each group of models starts with its name, and a rule is drawn above the last section."""
    heads = model_heads(card, model_groups)
    names = row_names(card, model_groups, spots[0].level if spots else "")
    for name in names:
        if name in heads:
            yield _heading(heads[name], len(spots))
        if name == first_of_sets(card, names):
            yield r"\midrule"
        yield _row([formatting.escape_latex(name), *(_cell(spot, name, cells) for spot in spots)])


def _heading(words: str, columns: int) -> str:
    return _row([f"\\multicolumn{{{columns + 1}}}{{@{{}}l}}{{\\textit{{{formatting.escape_latex(words)}}}}}"])


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(spot: ScoreColumn, name: str, cells: LatexCells) -> str:
    cell = spot.cell(name)
    mark = _MARKS.get(spot.marks.get(name, 0), "%s")
    if cells is LatexCells.COMPACT:  # the value gets as many decimals as the half-width
        value = mark % formatting.format_value(cell.value, Digits(spot.digits.ends), spot.sign_of(name))
        rest = _half_width(cell, spot.digits) + _low_coverage(cell)
        return f"{value}{{\\scriptsize{rest}}}" if rest else value
    value = mark % spot.value(name)
    if cells is LatexCells.VALUES:
        return value
    rest = f"{spot.interval(name)} ({numbers.format_coverage(cell)})".strip().replace("%", r"\%")
    return f"{value} {{\\scriptsize {rest}}}" if rest else value


def _half_width(cell: ScoreEstimate, digits: Digits) -> str:
    """Return half of the interval's width. The interval need not be symmetric around the value."""
    if cell.low is None or cell.high is None:
        return ""
    return rf"$\pm${formatting.format_value((cell.high - cell.low) / 2, Digits(digits.ends))}"


def _low_coverage(cell: ScoreEstimate) -> str:
    if not cell.total or cell.scored >= _MAX_SHOWN_COVERAGE * cell.total:
        return ""
    return f" ({numbers.format_coverage(cell)})".replace("%", r"\%")
