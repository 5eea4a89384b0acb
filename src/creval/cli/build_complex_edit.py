"""`creval build complex-edit`: instructions of complexity C1 to CN for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import building, screen

if TYPE_CHECKING:
    from creval.core.benchmark import Dataset
    from creval.engine.writing import Wrote
    from creval.report.findings import Findings

PLOT = "operations.svg"


@building.command
def complex_edit(
    images: building.Images,
    out: building.Out,
    writer: building.Writer,
    steps: Annotated[
        int, typer.Option(min=1, max=20, help="Atomic edits a picture: C1 to CN.")
    ] = 8,
    temperature: Annotated[
        float, typer.Option(min=0, help="Of the sequences; the rest is written at 0.")
    ] = 1.15,
    *,
    common: building.Common,
) -> None:
    """Let a model write chains of atomic edits and their compounds; go on where it stopped."""
    from creval.benchmarks.complex_edit_rows import holds_rows
    from creval.build.chains.complex_edit_review import ComplexEditReview
    from creval.build.chains.complex_edit_run import ComplexEditBuilding

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
    wrote = building.carry_out(work, common)
    if wrote is None:
        return
    there = holds_rows(folder)
    building.tell_made(wrote, work.what, out)
    _tell(wrote, folder, there, common.json)
    building.end(wrote, common, out, there, ComplexEditReview)


def _tell(wrote: Wrote[dict[str, Any]], folder: Path, there: bool, json: bool) -> None:
    """How often each operation occurs, as a table and a plot."""
    from creval.benchmarks.complex_edit_release import load
    from creval.report.plots import operations, save

    facts = {"made": len(wrote.made), **building.facts_of(wrote)}
    if not there:
        if json:
            screen.print_json(facts)
        return
    found, counts = _operations(load(folder))
    save(operations(counts), folder / PLOT)
    if json:
        screen.print_json({**facts, **found.as_json()})
    else:
        screen.show(found)
    screen.note(f"Drawn: {folder / PLOT}")


def _operations(dataset: Dataset) -> tuple[Findings, dict[str, dict[str, int]]]:
    from creval.build.chains.operations import CATEGORIES, counted, operations_in
    from creval.report.built import operations

    numbers = counted(operations_in(dataset))
    counts = {group: {name: numbers[name] for name in names} for group, names in CATEGORIES.items()}
    return operations(counts, len({sample.source for sample in dataset.samples})), counts
