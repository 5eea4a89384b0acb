"""`creval build complex-edit`: instructions of complexity C1 to CN for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import building, options, screen

if TYPE_CHECKING:
    from creval.core.benchmark import Dataset
    from creval.engine.writing import Wrote
    from creval.report.findings import Findings

PLOT = "operations.svg"


def complex_edit(
    images: building.Images,
    out: building.Out,
    writer: building.Writer,
    steps: Annotated[
        int, typer.Option(min=1, max=20, help="Atomic edits a picture: C1 to CN.")
    ] = 8,
    limit: building.Limit = None,
    concurrency: building.Concurrency = 16,
    retries: building.Retries = 2,
    attempts: options.Attempts = 12,
    timeout: options.Timeout = 300.0,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    image_fit: options.ImageFit = "provider",
    temperature: Annotated[
        float, typer.Option(min=0, help="Of the sequences; the rest is written at 0.")
    ] = 1.15,
    prompts: options.Prompts = None,
    price: options.Price = None,
    budget: building.Budget = None,
    key_env: options.KeyEnv = None,
    max_unanswered: building.MaxUnanswered = "0.5",
    seed: building.Seed = 0,
    resume: building.Resume = True,
    review: building.ReviewFlag = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a model write chains of atomic edits and their compounds; go on where it stopped."""
    from creval.benchmarks.complex_edit_rows import holds_rows
    from creval.build.chains.complex_edit_review import ComplexEditReview
    from creval.build.chains.complex_edit_run import ComplexEditBuilding

    building.check_new(out, resume)
    allowed = options.percent(max_unanswered)
    settings = building.settings_of(
        limit=limit, concurrency=concurrency, retries=retries, attempts=attempts, timeout=timeout,
        rpm=rpm, tpm=tpm, image_fit=image_fit, prompts=prompts, price=price, budget=budget,
        key_env=key_env, seed=seed,
    )  # fmt: skip
    folder = Path(out)
    work = ComplexEditBuilding(
        Path(images), folder, writer, settings, steps=steps, temperature=temperature, dry=dry_run
    )
    wrote = building.carry_out(work, dry_run, json)
    if wrote is None:
        return
    there = holds_rows(folder)
    building.tell_made(wrote, work.what, out)
    _tell(wrote, folder, there, json)
    building.end(
        wrote, allowed, out, ComplexEditReview(folder) if review and there else None, there
    )


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
