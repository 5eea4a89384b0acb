"""`creval bench`: lists of benchmarks, protocols, judges, editors and scales, and checks of benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, options

if TYPE_CHECKING:
    from creval.core.benchmark import Benchmark, DatasetIssue
    from creval.core.sample import Sample
    from creval.core.schema import Level, SubScore


def bench(
    path: Annotated[str | None, typer.Argument(metavar="[PATH]", help="The folder of a benchmark.")] = None,
    json: options.Json = False,
) -> None:
    """List benchmarks, protocols, judges, editors and scales, or describe and check a benchmark's folder."""
    from creval import registry
    from creval.benchmarks import open_benchmark

    if path is None:
        titles = {name: registry.benchmarks.get(name).title for name in registry.benchmarks.names()}
        if json:
            console.print_json(titles)
        else:
            _print_registries(titles)
        return
    summary = summarise_benchmark(open_benchmark(path))
    if json:
        console.print_json(summary)
    else:
        _print_benchmark(summary)


def _print_registries(titles: Mapping[str, str]) -> None:
    """Print the benchmarks, and the names of protocols, judges, editors and scales."""
    from creval import registry
    from creval.core.formatting import escape_control

    for name, title in titles.items():
        print(escape_control(f"{registry.benchmarks.label(name)}: {title}"))
    for each in (registry.protocols, registry.judges, registry.editors, registry.scales):
        print("\n" + escape_control(f"{each.group.partition('.')[2]}: {', '.join(map(each.label, each.names()))}"))


def summarise_benchmark(benchmark: Benchmark) -> dict[str, Any]:
    """Return the contents of a benchmark as counts, and its problems."""
    from creval.core.files import is_file

    dataset, protocol = benchmark.dataset, benchmark.protocol
    probes = [probe for sample in dataset.samples for probe in protocol.probes(sample)]
    weights: dict[str, Counter[str]] = {}
    for probe in probes:
        counted = weights.setdefault(probe.metric, Counter())
        counted[f"{getattr(probe, 'weight', 1.0):g}"] += 1
    levels = [level for level in benchmark.schema.levels if level.groups_samples or level.groups_sub_scores]
    tagged = {
        level.plural: Counter(
            group
            for sample in dataset.samples
            for group in (
                [part.group for part in _level_sub_scores(benchmark, sample, level)]
                if level.groups_sub_scores
                else [sample.tags.get(level.name, "")]
            )
        )
        for level in levels
    }
    sources = {s.id: s.source for s in dataset.samples if s.source is not None}
    missing = [identity for identity, source in sources.items() if not is_file(source)]
    return {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "folder": str(dataset.root),
        "samples": len(dataset.samples),
        "questions": dict(Counter(probe.metric for probe in probes)),
        "weights": {metric: dict(sorted(found.items())) for metric, found in weights.items()},
        "groups": {level.plural: {group: tagged[level.plural][group] for group in level.groups} for level in levels},
        "subsets": {name: len(members) for name, members in dataset.subsets.items()},
        "images": {"present": len(sources) - len(missing), "missing": missing},
        "repairs": [_issue_json(finding) for finding in dataset.issues if finding.is_repaired],
        "problems": [_issue_json(finding) for finding in dataset.issues if not finding.is_repaired],
    }


def _level_sub_scores(benchmark: Benchmark, sample: Sample, level: Level) -> Sequence[SubScore]:
    """Return the sub-scores of a sample that belong to the groups of a level."""
    protocol = benchmark.protocol
    return protocol.sub_scores(sample, protocol.probes(sample), {}).get(level.name, ())


def _issue_json(finding: DatasetIssue) -> dict[str, str]:
    entry = {
        "rule": finding.rule,
        "where": finding.location,
        "item": finding.item,
        "found": finding.original,
        "became": finding.replacement,
        "note": finding.note,
    }
    return {name: value for name, value in entry.items() if value}


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


def _format_issues(findings: Iterable[dict[str, str]]) -> Iterable[str]:
    """Yield lines with issues grouped by kind, those of one file in one line."""
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
