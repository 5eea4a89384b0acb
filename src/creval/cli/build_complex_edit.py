"""`creval build complex-edit`: instructions of complexity C1 to CN for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import build_common, console

if TYPE_CHECKING:
    from creval.calls.text_generation import Wrote
    from creval.core.benchmark import Dataset
    from creval.report.output import Findings

PLOT = "operations.svg"


@build_common.command
def complex_edit(
    images: build_common.Images,
    out: build_common.Out,
    writer: build_common.Writer,
    steps: Annotated[
        int, typer.Option(min=1, max=20, help="Atomic edits a picture: C1 to CN.")
    ] = 8,
    temperature: Annotated[
        float, typer.Option(min=0, help="Of the sequences; the rest is written at 0.")
    ] = 1.15,
    *,
    common: build_common.Common,
) -> None:
    """Let a model write chains of atomic edits and their compounds; go on where it stopped."""
    from creval.benchmarks.complex_edit.rows import holds_rows
    from creval.building.complex_edit.builder import ComplexEditBuilding
    from creval.building.complex_edit.review import ComplexEditReview

    settings = common.settings(out)
    folder = Path(out)
    work = ComplexEditBuilding(
        Path(images),
        folder,
        writer,
        settings,
        steps=steps,
        temperature=temperature,
        dry=common.dry_run,
    )
    wrote = build_common.carry_out(work, common)
    if wrote is None:
        return
    there = holds_rows(folder)
    build_common.tell_made(wrote, work.what, out)
    _tell(wrote, folder, there, common.json)
    build_common.end(wrote, common, out, there, ComplexEditReview)


def _tell(wrote: Wrote[dict[str, Any]], folder: Path, there: bool, json: bool) -> None:
    """How often each operation occurs, as a table and a plot."""
    from creval.benchmarks.complex_edit.release import load
    from creval.report.plots import operations, save

    facts = {"made": len(wrote.made), **build_common.facts_of(wrote)}
    if not there:
        if json:
            console.print_json(facts)
        return
    found, counts = _operations(load(folder))
    save(operations(counts), folder / PLOT)
    if json:
        console.print_json({**facts, **found.as_json()})
    else:
        console.show(found)
    console.note(f"Drawn: {folder / PLOT}")


def _operations(dataset: Dataset) -> tuple[Findings, dict[str, dict[str, int]]]:
    from creval.building.complex_edit.operations import CATEGORIES, counted, operations_in
    from creval.report.commands.built import operations

    numbers = counted(operations_in(dataset))
    counts = {group: {name: numbers[name] for name in names} for group, names in CATEGORIES.items()}
    return operations(counts, len({sample.source for sample in dataset.samples})), counts
