"""`creval build complex-edit`: instructions of complexity C1 to CN for anyone's pictures."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import building, estimates, options, screen

if TYPE_CHECKING:
    from creval.core.benchmark import Dataset
    from creval.engine.writing import Desk, Wrote
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
    attempts: building.Attempts = 12,
    timeout: building.Timeout = 300.0,
    rpm: building.Rpm = None,
    temperature: Annotated[
        float, typer.Option(min=0, help="Of the sequences; the rest is written at 0.")
    ] = 1.15,
    prompts: building.Prompts = None,
    price: building.Price = None,
    budget: building.Budget = None,
    key_env: building.KeyEnv = None,
    max_unanswered: building.MaxUnanswered = "0.5",
    seed: building.Seed = 0,
    review: building.ReviewFlag = False,
    dry_run: building.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a model write chains of atomic edits and their compounds; go on where it stopped."""
    from creval.build.chains import complex_edit as chains
    from creval.build.manifest import keep_manifest
    from creval.build.pictures import picture_names, some
    from creval.engine.writing import Item, Writing
    from creval.report.text import many

    allowed = options.percent(max_unanswered)
    settings = building.settings_of(
        limit=limit, concurrency=concurrency, retries=retries, attempts=attempts, timeout=timeout,
        rpm=rpm, prompts=prompts, price=price, budget=budget, key_env=key_env, seed=seed,
    )  # fmt: skip
    texts = chains.load_texts(prompts)
    folder, source = Path(out), Path(images)
    writing: Writing[dict[str, Any]] = Writing(
        folder, dict.fromkeys(chains.ROLES, writer), settings, warm={"writer": temperature},
        dry=dry_run,
    )  # fmt: skip
    names = picture_names(source, folder)
    rows = chains.Rows(folder)
    numbers = rows.numbered(names)
    chosen = some(names, limit, seed)
    items = [Item(name, source / name) for name in chosen if name not in rows]
    stages = chains.stages(steps)
    expected = writing.estimate(items, stages)
    if dry_run:
        estimates.show(expected, concurrency, json, (len(items), "picture"))
        return
    shape = {"steps": steps, "temperature": temperature}
    keep_manifest("complex-edit", writing, texts, shape)
    if len(items) < len(chosen):
        screen.note(f"{many(len(chosen) - len(items), 'picture')} done before stay as they are.")
    screen.note(f"{many(len(items), 'picture')}: about {estimates.in_a_line(expected)}")
    facts = {
        "writer": writing.judges["writer"].model,
        "prompts": [prompt.version for prompt in texts],
        "temperature": temperature,
    }

    async def made(desk: Desk) -> dict[str, Any]:
        found = await chains.write_chain(desk, texts, steps, retries)
        rows.write(desk.item, numbers[desk.item.id], found, facts)
        return found

    line = screen.Line()
    try:
        wrote = writing.run(
            items, made, calls=sum(stage.calls for stage in stages), watch=building.watcher(line)
        )
    finally:
        line.clear()
    _tell(wrote, folder, json)
    if review:
        from creval.build.chains.complex_edit_review import ComplexEditReview

        building.open_review(ComplexEditReview(folder))
    building.end(wrote, len(items), allowed)


def _tell(wrote: Wrote[dict[str, Any]], folder: Path, json: bool) -> None:
    from creval.benchmarks.complex_edit_release import load
    from creval.benchmarks.complex_edit_rows import holds_rows
    from creval.report.plots import operations, save

    building.tell_end(wrote, "picture")
    if not holds_rows(folder):
        if json:
            screen.print_json(building.facts_of(wrote))
        return
    found, counts = _operations(load(folder))
    save(operations(counts), folder / PLOT)
    if json:
        screen.print_json({**building.facts_of(wrote), **found.as_json()})
    else:
        screen.show(found)
    screen.note(f"Drawn: {folder / PLOT}")
    screen.note(f"Now: creval bench {quote(str(folder))}")


def _operations(dataset: Dataset) -> tuple[Findings, dict[str, dict[str, int]]]:
    from creval.build.chains.complex_edit import operations_in
    from creval.build.chains.operations import CATEGORIES, counted
    from creval.report.built import operations

    numbers = counted(operations_in(dataset))
    counts = {group: {name: numbers[name] for name in names} for group, names in CATEGORIES.items()}
    return operations(counts, len({sample.source for sample in dataset.samples})), counts
