"""`creval bench`: lists of benchmarks, protocols, judges, editors and scales, and checks of benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.reporting.output import OutputTable, Row


def bench(
    path: Annotated[str | None, typer.Argument(metavar="[PATH]", help="The folder of a benchmark.")] = None,
    json: options.Json = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Plot how a benchmark's samples are distributed (.svg, .png or .pdf)."),
    ] = None,
) -> None:
    """List benchmarks, protocols, judges, editors and scales, or describe and check a benchmark's folder."""
    from creval import registry
    from creval.api.describe import describe_benchmark

    if path is None and plot is not None:
        raise CrevalError("--plot needs the folder of a benchmark.")
    if path is None:
        titles = {name: registry.benchmarks.get(name).title for name in registry.benchmarks.names()}
        if json:
            console.print_json(titles)
        else:
            _print_registries(titles)
        return
    summary = describe_benchmark(path, plot).as_json()
    if json:
        console.print_json(summary)
    else:
        _print_benchmark(summary)
    if plot is not None:
        console.print_note(f"wrote {plot}")


def _print_registries(titles: Mapping[str, str]) -> None:
    """Print the benchmarks, and the names of protocols, judges, editors and scales."""
    from creval import registry
    from creval.core.formatting import escape_control

    for name, title in titles.items():
        print(escape_control(f"{registry.benchmarks.label(name)}: {title}"))
    for each in (registry.protocols, registry.judges, registry.editors, registry.scales):
        print("\n" + escape_control(f"{each.group.partition('.')[2]}: {', '.join(map(each.label, each.names()))}"))


def _print_benchmark(summary: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.core.formatting import escape_control

    out = console.stdout_console()
    title, kind = summary["title"], summary["benchmark"]
    named = escape_control(f"{title} ({kind})" if title != kind else kind)
    out.print(Text(f"{named}: {summary['samples']} samples", "bold"))
    for plural, groups in summary["groups"].items():
        table = Table(plural, "number", box=SIMPLE_HEAD, pad_edge=False)
        table.columns[1].justify = "right"
        for group, count in groups.items():
            table.add_row(Text(escape_control(group)), str(count))
        out.print(table)
    questions = Table("metric", "questions", "by weight", box=SIMPLE_HEAD, pad_edge=False)
    questions.columns[1].justify = "right"
    for metric, count in summary["questions"].items():
        weights = summary["weights"][metric].items()
        shown = ", ".join(f"{number} of weight {weight}" for weight, number in weights)
        questions.add_row(metric, str(count), shown)
    if questions.row_count:
        out.print(questions)
    for step_table in _step_tables(summary["steps"]):
        console.print_table(step_table)
    words = summary["instruction_words"]
    lengths = list(words["samples"])
    out.print(Text(f"instructions: {lengths[0]} to {lengths[-1]} words, median {words['median']:g}"))
    for name, count in summary["subsets"].items():
        out.print(Text(escape_control(f"subset {name}: {count} samples")))
    missing = summary["images"]["missing"]
    out.print(Text(f"source images: {summary['images']['present']} here, {len(missing)} missing"))
    if missing:
        out.print(Text(escape_control(f"  missing: {_abbreviate_names(missing)}"), "dim"))
    for title in ("repairs", "problems"):
        findings = summary[title]
        out.print(Text(f"{title}: {len(findings) or 'none'}", "bold"))
        for line in _format_issues(findings):
            out.print(Text(escape_control(line)), soft_wrap=True)


def _step_tables(steps: Mapping[str, Any]) -> Iterable[OutputTable]:
    """Yield two tables: the operations by category, and how often a category follows another one."""
    from creval.reporting.commands.build_output import operations_table
    from creval.reporting.output import OutputTable

    if not steps:
        return
    yield operations_table(steps["operations"])
    transitions = steps["transitions"]
    if transitions:
        heads = ["first \\ next", *(str(at) for at in range(1, len(transitions) + 1))]
        rows: list[Row] = [
            [f"{at} {name}", *(f"{number:,}" if number else "·" for number in counts.values())]
            for at, (name, counts) in enumerate(transitions.items(), 1)
        ]
        caption = "How often a step of a category (row) is followed by one of another (column)."
        yield OutputTable(heads, rows, caption=caption)


def _format_issues(findings: Iterable[dict[str, str]]) -> Iterable[str]:
    """Yield lines that list issues by kind. The issues of one file share a line."""
    kinds: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for finding in findings:
        what = tuple(finding.get(key, "") for key in ("rule", "found", "became", "note"))
        items = kinds.setdefault(what, {}).setdefault(finding["where"], [])
        items.append(finding.get("item", ""))
    for (rule, found, became, note), files in kinds.items():
        count = sum(len(items) for items in files.values())
        change = f" {found!r} -> {became!r}" if became else f" {found!r}" if found else ""
        yield f"  {count} x {rule}{change}" + (f" ({note})" if note else "")
        for file, items in files.items():
            named = ", ".join(item for item in items if item)
            yield f"      {file}" + (f": {named}" if named else "")


def _abbreviate_names(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
