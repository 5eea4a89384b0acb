"""Output tables as Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from creval.core.formatting import escape_latex, escape_markdown
from creval.reporting.output import BEST, SECOND, STRONG, OutputTable, TableCell, as_table_cell

_MARKDOWN = {BEST: ("**", "**"), STRONG: ("**", "**"), SECOND: ("<u>", "</u>")}
_LATEX = {BEST: "\\textbf{%s}", STRONG: "\\textbf{%s}", SECOND: "\\underline{%s}"}


def markdown_from_table(table: OutputTable) -> str:
    """Return a table as Markdown."""
    heads = [escape_markdown(" ".join(head.split("\n"))) for head in table.headers]
    rule = ["---"] * table.text_columns + ["---:"] * (len(heads) - table.text_columns)
    rows = [[_markdown_cell(as_table_cell(cell)) for cell in row] for row in table.rows]
    body = "".join(f"| {' | '.join(line)} |\n" for line in (heads, rule, *rows))
    title = f"**{escape_markdown(table.title)}**\n\n" if table.title else ""
    return title + body + (f"\n{escape_markdown(table.caption)}\n" if table.caption else "")


def _markdown_cell(cell: TableCell) -> str:
    start, end = _MARKDOWN.get(cell.mark, ("", ""))
    text = f"{start}{escape_markdown(cell.text)}{end}" if cell.text else ""
    return " ".join([text, *map(escape_markdown, _details(cell))]).strip()


def _details(cell: TableCell) -> list[str]:
    """Return the details of a cell: the interval, followed by everything else in parentheses."""
    parts = [part.strip() for part in (cell.below, cell.beside) if part.strip()]
    return [part if part.endswith("]") else f"({part})" for part in parts]


def latex_from_table(table: OutputTable) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    columns = "l" * table.text_columns + "r" * (len(table.headers) - table.text_columns)
    lines = [r"\toprule", _latex_row([_latex_head(head) for head in table.headers]), r"\midrule"]
    for at, row in enumerate(table.rows):
        if at and at in table.section_starts:
            lines.append(r"\midrule")
        lines.append(_latex_row([_latex_cell(as_table_cell(cell)) for cell in row]))
    lines.append(r"\bottomrule")
    if table.title:
        title = f"\\textit{{{escape_latex(table.title)}}}"
        lines.insert(1, _latex_row([f"\\multicolumn{{{len(columns)}}}{{@{{}}l}}{{{title}}}"]))
    note = f"% {escape_latex(table.caption)}\n" if table.caption else ""
    body = "\n".join(lines)
    return f"{note}\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n{body}\n\\end{{tabular}}\n"


def _latex_head(head: str) -> str:
    return escape_latex(" ".join(head.split("\n"))).replace("↓", r"$\downarrow$")


def _latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _latex_cell(cell: TableCell) -> str:
    value = _LATEX.get(cell.mark, "%s") % escape_latex(cell.text)
    rest = " ".join(map(escape_latex, _details(cell)))
    return f"{value} {{\\scriptsize {rest}}}" if rest else value
