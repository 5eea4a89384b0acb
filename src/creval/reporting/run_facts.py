"""Facts about a run: judge, prompts, settings, cost, unanswered questions and missing images."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.core import formatting
from creval.core.edit_record import EditStatus
from creval.core.files import is_file
from creval.core.verdict import VerdictStatus
from creval.providers.catalog import describe_judge
from creval.reporting.output import OutputTable
from creval.store.manifest import benchmark_title
from creval.store.run import Run

_MAX_NAMES = 30  # samples listed by name


def run_facts_table(run: Run) -> OutputTable:
    """Return a table of a run's facts, as far as they are known."""
    return OutputTable(["setting", "value"], [list(row) for row in _facts(run)], text_columns=2)


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    manifest = run.manifest
    folder = Path(manifest.get("benchmark_folder", "")).name
    title, kind = benchmark_title(manifest), manifest["benchmark"]
    kinds = f" ({kind})" if kind != title else ""
    yield "benchmark", title + kinds + (f", folder {folder}" if folder not in ("", title) else "")
    protocol = manifest.get("protocol", manifest["benchmark"])
    if protocol != manifest["benchmark"]:
        yield "protocol", protocol
    yield "judge", describe_judge(manifest["judge"]) or "none (measured metrics only)"
    for judge in manifest.get("judges", ()):
        known = {k: v for k, v in judge.items() if v not in (None, "", {}, manifest["judge"])}
        if known:
            yield "judge model", _format_mapping(known)
    if len(addresses := manifest.get("judge_addresses", ())) > 1:
        yield "judge addresses", ", ".join(addresses)
    for name in manifest.get("prompts", {}):
        yield "prompt", name
    if image_metrics := run.image_metrics():
        yield "measured metrics", ", ".join(image_metrics)
    settings = {k: v for k, v in manifest.get("settings", {}).items() if v not in (None, {})}
    if settings:
        yield "settings", _format_mapping(settings)
    for key, what in (("repeat", "answers per question"), ("seed", "random seed")):
        if key in manifest:
            yield what, str(manifest[key])
    spent = run.costs()
    if spent.calls:
        yield "calls", f"{spent.calls:,}"
    if shared := run.count_cached_replies():
        yield "replies from the cache", f"{shared:,}"
    if spent.tokens_in or spent.tokens_out:
        yield "tokens", f"{spent.tokens_in:,} in, {spent.tokens_out:,} out"
    if spent.cost:
        yield "cost", formatting.format_money(spent.cost)
    if "date" in manifest:
        yield "date", manifest["date"]
    versions = {"creval": manifest.get("creval"), "Python": manifest.get("python")}
    yield "versions", ", ".join(f"{name} {of}" for name, of in versions.items() if of) or "not recorded"


def _format_mapping(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    )


def unanswered_tables(run: Run, models: Sequence[str], samples: Collection[str]) -> list[OutputTable]:
    """Return tables about these models and samples: statuses of questions, and reasons for missing answers."""
    grids = []
    counts = {name: of for name, of in run.count_statuses(samples).items() if name in models}
    if counts:
        grids.append(status_table(counts))
    reasons = run.unanswered_reasons(models, samples)
    if reasons:
        rows = [[reason, f"{number:,}"] for reason, number in reasons]
        grids.append(OutputTable(["reason for no answer", "questions"], rows))
    return grids


def missing_images_table(run: Run, models: Sequence[str], samples: Collection[str]) -> OutputTable | None:
    """Return a table of missing images of these models and samples, or None if no image is missing.

    Source images come first. Unsupported and impossible edits are not counted.
    """
    never = run.unsupported | {
        (gone.edit.model, gone.edit.sample) for gone in run.missing_edits() if gone.status is EditStatus.IMPOSSIBLE
    }
    wanted = [(name, run.samples[name].source) for name in samples]
    images: dict[str, list[tuple[str, Path | None]]] = {
        "source images": [(name, source) for name, source in wanted if source is not None]
    }
    for key, path in run.image_paths():
        chosen = key.model in models and key.sample in samples
        if chosen and (key.model, key.sample) not in never:
            images.setdefault(f"edits of {key.model}", []).append((key.sample, path))
    rows = []
    for what, found in images.items():
        gone = [name for name, path in found if not is_file(path)]
        if gone:
            which = "all" if len(gone) == len(found) else _abbreviate_names(gone)
            rows.append([what, f"{len(found):,}", f"{len(gone):,}", which])
    return OutputTable(["images", "expected", "missing", "samples"], rows) if rows else None


def _abbreviate_names(names: list[str]) -> str:
    counted = Counter(names)
    shown = ", ".join(name if n == 1 else f"{name} ({n})" for name, n in list(counted.items())[:_MAX_NAMES])
    more = len(counted) - _MAX_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def status_table(
    counts: Mapping[str, Mapping[VerdictStatus, int]] | Mapping[str, Mapping[str, int]], what: str = "questions"
) -> OutputTable:
    """Return a table with a row per model and a column per status that occurs. `what` names the counted things."""
    named = {model: {VerdictStatus(s): n for s, n in found.items()} for model, found in counts.items()}
    there = {status for found in named.values() for status in found}
    columns = [status for status in VerdictStatus if status in there]
    rows = [
        [model, f"{sum(found.values()):,}", *(f"{found.get(one, 0):,}" for one in columns)]
        for model, found in named.items()
    ]
    return OutputTable(["model", what, *map(str, columns)], rows)
