"""`creval build complexbench`: three steps a picture, some building on each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import build_common, console, options

if TYPE_CHECKING:
    from creval.building.complexbench.files import ComplexBenchEntries


@build_common.build_command
def complexbench(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer,
    coco: Annotated[str | None, typer.Option(metavar="FILE", help="COCO's annotations of the pictures.")] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="boxes=MODEL", help="Or a detector for objects.")
    ] = None,
    checker: Annotated[str | None, typer.Option(metavar="SPEC", help="Who says whether steps are feasible.")] = None,
    level: Annotated[str, typer.Option(metavar="parallel|two-chain|three-chain|all", help="What to make.")] = "all",
    temperature: Annotated[float, typer.Option(min=0, help="Of the writer.")] = 0.7,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Let a model write parallel and chained steps, checked by another; go on where it stopped."""
    from creval.api.builds import object_finder
    from creval.building.complexbench.builder import ComplexBenchBuilder
    from creval.building.complexbench.edit_types import LEVELS
    from creval.building.complexbench.review import ComplexBenchReview
    from creval.core.errors import require_known

    require_known("level", level, (*LEVELS, "all"))
    settings = common.settings(out, options.parse_metric_models(metric_model or ()))
    folder, source = Path(out), Path(images)
    work = ComplexBenchBuilder(
        source,
        folder,
        {"writer": writer, "checker": checker or writer},
        settings,
        object_finder(source, folder, coco, settings.metric_models.get("boxes")),
        levels=tuple(LEVELS) if level == "all" else (level,),
        temperature=temperature,
        dry_run=common.dry_run,
    )
    wrote = build_common.run_build(work, common)
    if wrote is None:
        return
    build_common.print_made_summary(wrote, work.unit, out)
    there = any(work.entries.subsets.values())
    facts = {"made": len(wrote.results), "not_kept": work.unsuitable_images, **build_common.build_facts(wrote)}
    if there:
        _print_edit_types(work.entries, facts, common.json)
    elif common.json:
        console.print_json(facts)
    build_common.finish_build(wrote, common, out, there, ComplexBenchReview)


def _print_edit_types(entries: ComplexBenchEntries, facts: dict[str, Any], json: bool) -> None:
    """How often each type occurs, as a table."""
    from creval.benchmarks.complexbench_edit.release import EDIT_TYPES, SUBSETS
    from creval.reporting.commands.build_output import edit_types_output

    counts = {
        subset: Counter(
            str(pair.get("edit_type"))
            for entry in entries.subsets[subset].values()
            for pair in entry.get("edit pair", ())
        )
        for subset in SUBSETS
    }
    found = edit_types_output(counts, EDIT_TYPES)
    if json:
        console.print_json({**facts, **found.as_json()})
    else:
        console.print_output(found)
