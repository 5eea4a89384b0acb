"""`creval build complexbench`: instructions of three steps per image, some of which depend on each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import build_common, options

if TYPE_CHECKING:
    from creval.building.complexbench.files import ComplexBenchEntries
    from creval.calls.text_generation import GenerationResult
    from creval.reporting.output import CommandOutput


@build_common.build_command
def complexbench(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer,
    coco: Annotated[str | None, typer.Option(metavar="FILE", help="COCO annotations of the images.")] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="boxes=MODEL", help="Object detector, instead of --coco.")
    ] = None,
    checker: Annotated[str | None, options.spec("judges", "Model that checks whether steps are feasible.")] = None,
    level: Annotated[
        str,
        typer.Option(
            metavar="parallel|two-chain|three-chain|any|all",
            help="Subsets to build. all: the release's five. any: parallel steps of any types.",
        ),
    ] = "all",
    types: Annotated[
        str, typer.Option(metavar="TYPE,...", help="With --level any, edit types to draw from; by default all ten.")
    ] = "",
    temperature: Annotated[float, typer.Option(min=0, help="Temperature of the writer.")] = 0.7,
    *,
    common: build_common.BuildFlags,
) -> None:
    """Write parallel and chained steps, and check them. Resumes an interrupted build."""
    from creval.api.builds import object_finder
    from creval.building.complexbench.builder import ComplexBenchBuilder
    from creval.building.complexbench.edit_types import select_levels
    from creval.building.complexbench.review import ComplexBenchReview

    settings = common.settings(out, options.parse_metric_models(metric_model or ()))
    folder, source = Path(out), Path(images)
    work = ComplexBenchBuilder(
        source,
        folder,
        {"writer": writer, "checker": checker or writer},
        settings,
        object_finder(source, folder, coco, settings.metric_models.get("boxes")),
        levels=select_levels(level),
        types=types,
        temperature=temperature,
        duplicates=common.duplicates,
        dry_run=common.dry_run,
    )

    def describe(result: GenerationResult[dict[str, Any]]) -> build_common.BuildOutput:
        facts = {"made": len(result.results), "not_kept": work.unsuitable_images}
        there = any(work.entries.subsets.values())
        return build_common.BuildOutput(there, _edit_types_table(work.entries) if there else None, facts)

    build_common.run_build(work, common, ComplexBenchReview, describe)


def _edit_types_table(entries: ComplexBenchEntries) -> CommandOutput:
    """Return a table with the number of edits of each type."""
    from creval.benchmarks.complexbench_edit.release import ALL_SUBSETS, EDIT_TYPES, SUBSETS
    from creval.reporting.commands.build_output import edit_types_output

    counts = {
        subset: Counter(
            str(pair.get("edit_type"))
            for entry in entries.subsets[subset].values()
            for pair in entry.get("edit pair", ())
        )
        for subset in ALL_SUBSETS
        if subset in SUBSETS or entries.subsets[subset]
    }
    return edit_types_output(counts, EDIT_TYPES)
