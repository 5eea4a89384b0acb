"""`creval build complexbench`: three steps a picture, some building on each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import build_common, console, options

if TYPE_CHECKING:
    from creval.building.complexbench.builder import Look
    from creval.building.complexbench.files import Entries


@build_common.command
def complexbench(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer,
    coco: Annotated[
        str | None, typer.Option(metavar="FILE", help="COCO's annotations of the pictures.")
    ] = None,
    gauge: Annotated[
        list[str] | None, typer.Option(metavar="boxes=MODEL", help="Or a detector for objects.")
    ] = None,
    checker: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Who says whether steps are feasible.")
    ] = None,
    level: Annotated[
        str, typer.Option(metavar="parallel|two-chain|three-chain|all", help="What to make.")
    ] = "all",
    temperature: Annotated[float, typer.Option(min=0, help="Of the writer.")] = 0.7,
    *,
    common: build_common.Common,
) -> None:
    """Let a model write parallel and chained steps, checked by another; go on where it stopped."""
    from creval.building.complexbench.builder import ComplexBenchBuilding
    from creval.building.complexbench.edit_types import LEVELS
    from creval.building.complexbench.review import ComplexBenchReview
    from creval.core.errors import known_name

    known_name("level", level, (*LEVELS, "all"))
    settings = common.settings(out, options.models_by_use(gauge or ()))
    folder, source = Path(out), Path(images)
    work = ComplexBenchBuilding(
        source, folder, {"writer": writer, "checker": checker or writer}, settings,
        _looking(source, folder, coco, settings.gauges.get("boxes")),
        levels=tuple(LEVELS) if level == "all" else (level,), temperature=temperature,
        dry=common.dry_run,
    )  # fmt: skip
    wrote = build_common.carry_out(work, common)
    if wrote is None:
        return
    build_common.tell_made(wrote, work.what, out)
    there = any(work.entries.subsets.values())
    facts = {
        "made": len(wrote.made), "not_kept": work.not_kept, **build_common.facts_of(wrote),
    }  # fmt: skip
    if there:
        _tell_kinds(work.entries, facts, common.json)
    elif common.json:
        console.print_json(facts)
    build_common.end(wrote, common, out, there, ComplexBenchReview)


def _looking(source: Path, folder: Path, coco: str | None, model: str | None) -> Look:
    """Who tells what is in pictures: annotations, or a detector."""
    from creval.building.complexbench.objects import Seen
    from creval.core.errors import CrevalError

    if (coco is None) == (model is None):
        raise CrevalError("give --coco FILE, or --gauge boxes=MODEL to let a detector look.")

    def look(names: Sequence[str]) -> Seen:
        if coco is not None:
            from creval.benchmarks.complexbench_edit.coco_boxes import read_pictures

            return Seen(read_pictures(Path(coco)), {})
        from creval.building.complexbench.detection import detected
        from creval.metrics.object_detection import Detector

        line, find = console.Line(), Detector(str(model)).find
        try:
            return detected(
                folder, {name: source / name for name in names}, str(model), find,
                console.counting(line, "pictures looked at"),
            )  # fmt: skip
        finally:
            line.clear()

    return look


def _tell_kinds(entries: Entries, facts: dict[str, Any], json: bool) -> None:
    """How often each type occurs, as a table."""
    from creval.benchmarks.complexbench_edit.release import KINDS, SUBSETS
    from creval.report.commands.built import edit_types

    counts = {
        subset: Counter(
            str(pair.get("edit_type"))
            for entry in entries.subsets[subset].values()
            for pair in entry.get("edit pair", ())
        )
        for subset in SUBSETS
    }
    found = edit_types(counts, KINDS)
    if json:
        console.print_json({**facts, **found.as_json()})
    else:
        console.show(found)
