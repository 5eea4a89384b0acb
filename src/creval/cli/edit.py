"""`creval edit`: edit a benchmark's samples with an editing model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, estimate_output, options

if TYPE_CHECKING:
    from creval.editing.edit_run import EditRun, EditRunResult
    from creval.reporting.output import CommandOutput

_MAX_REASONS = 8  # reasons in a note
_ODDITIES = {
    "same_as_source": "identical to its source, pixel by pixel",
    "another_size": "not the size of its source",
    "another_shape": "not the shape of its source",
    "no_longer_transparent": "opaque where its source is transparent",
}


def edit(
    bench: options.Benchmark,
    editor: Annotated[str, options.spec("editors", "openai:gpt-image-1, command:'PROGRAM ...' ...")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the edits; its name is the model's name.")],
    strategy: Annotated[
        str, typer.Option(metavar="NAME+NAME", help="Strategy: direct, sequential, best-of:N, reasoned.")
    ] = "direct",
    judge: Annotated[str, options.spec("judges", "Judge that picks the best edit, for best-of.")] = "",
    reasoner: Annotated[str, options.spec("judges", "Model that plans the edits, for reasoned.")] = "",
    repeat: Annotated[int, typer.Option(min=1, help="For best-of: pick by the mean of K judgements.")] = 1,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="For best-of: reuse the same editor's images in another folder as candidates."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the editor; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only N samples, balanced over dimensions.")] = None,
    subset: options.Subset = None,
    dimension: Annotated[str | None, typer.Option(metavar="A,B", help="Only these dimensions or categories.")] = None,
    draws: Annotated[
        int, typer.Option(min=1, help="Edits per sample (draws), each with another seed (STEM--1.png ...).")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first draw; increases by one per draw.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Concurrent images.")] = 4,
    attempts: Annotated[int, typer.Option(min=1, help="Tries per image before giving up.")] = 5,
    timeout: Annotated[float, typer.Option(min=0.1, help="Timeout of an image in seconds.")] = 600.0,
    rpm: options.Rpm = None,
    prompts: options.Prompts = None,
    price: Annotated[float | None, typer.Option(metavar="USD", min=0, help="Price in US dollars per image.")] = None,
    token_price: Annotated[
        str | None,
        typer.Option(metavar="IN,OUT", help="Price of the judge and the reasoner in US dollars per million tokens."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="5USD", help="Stop when all commands on the folder have cost this much.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable with the editor's API key.")
    ] = None,
    max_unanswered: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="Exit with status 1 if more than this share of the samples has no image."),
    ] = "0.5",
    keep_old: options.KeepOld = False,
    redo: options.Redo = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Edit every sample with a model. Resumes an interrupted run."""
    from creval.benchmarks import open_benchmark
    from creval.editing.edit_run import EditRun, StrategyOptions
    from creval.editing.session import EditSettings
    from creval.editors.base import EditorOptions
    from creval.judging.plan import select_samples
    from creval.store.code_versions import ChangeChoice

    allowed = options.parse_share(max_unanswered)
    benchmark = open_benchmark(bench)
    samples = select_samples(
        benchmark, groups=options.parse_names(dimension, "--dimension"), limit=limit, subset=subset
    )
    run = EditRun(
        benchmark,
        samples,
        editor,
        Path(out),
        StrategyOptions(
            strategy,
            judge,
            reasoner,
            options.parse_token_price(token_price),
            prompts,
            repeat,
            None if candidates is None else Path(candidates),
        ),
        EditorOptions(
            options.parse_parameters(set_ or ()), timeout=timeout, concurrency=concurrency, price=price, key_env=key_env
        ),
        EditSettings(concurrency, attempts, rpm, options.parse_budget(budget), seed),
        draws=draws,
        if_changed=ChangeChoice(keep_old, redo),
        dry_run=dry_run,
    )
    expected = run.estimate()
    if dry_run:
        price_flag = "--price USD (judge and reasoner: --token-price IN,OUT)"
        estimate_output.print_estimates(expected, concurrency, json, (len(samples), "sample"), price_flag)
        console.print_note(*_skipped_notes(run))
        return
    console.print_note(estimate_output.format_estimates(expected))
    with console.ProgressLine() as shown:
        watch = console.watch_calls(shown)
        edited = run.run(lambda what, so_far: watch(so_far, what, "images" if what == "editing" else "calls"))
    console.print_output(_edit_output(edited), json)
    _finish(edited, bench, out, allowed)


def _skipped_notes(run: EditRun) -> list[str]:
    """Return notes on the number of skipped samples, by reason."""
    from creval.core.formatting import escape_control, pluralise

    counted = Counter((edit.status, edit.reason) for edit in run.skipped_edits.values())
    return [
        escape_control(f"{pluralise(number, 'sample')} {status}: {reason}")
        for (status, reason), number in counted.most_common(_MAX_REASONS)
    ]


def _edit_output(result: EditRunResult) -> CommandOutput:
    from creval.core.formatting import escape_control, pluralise
    from creval.reporting.output import CommandOutput, OutputTable

    progress, statuses = result.progress, result.statuses
    names = list(dict.fromkeys(["done", "refused", "failed", *statuses]))
    wanted = "edit" if result.draws > 1 else "sample"
    row = [f"{result.edit_count:,}", *(f"{statuses[name]:,}" for name in names)]
    notes = [escape_control(line) for line in result.notes]
    notes += [f"{pluralise(n, 'edit')}: {_ODDITIES[name]}" for name, n in result.anomalies.most_common()]
    lost = sum(number for _, number in result.reasons)
    if lost:
        notes.append(f"{pluralise(lost, wanted)} without an image:")
        notes += [escape_control(f"  {n:,} {reason}") for reason, n in result.reasons[:_MAX_REASONS]]
        if statuses["refused"] or statuses["failed"]:
            others = statuses.keys() - {"done", "refused", "failed"}
            which = "those that were refused or failed" if others else "them"
            notes.append(f"Repeat the command to request {which} again.")
    notes += console.error_notes(progress, "image")
    notes.append(console.call_summary(progress, kept="image", folder_cost=result.cost or 0.0))
    data: dict[str, Any] = {
        "samples": result.sample_count,
        **({"draws": result.draws} if result.draws > 1 else {}),
        "statuses": dict(statuses),
        "reasons": [{"reason": reason, "samples": n} for reason, n in result.reasons],
        "odd": dict(result.anomalies),
        "calls": progress.calls_answered,
        "cached": progress.cached,
        "faults": dict(progress.error_counts),
        "cost": result.cost,
        "stopped": result.stopped or None,
    }
    return CommandOutput((), [OutputTable([f"{wanted}s", *names], [row], text_columns=0)], data, notes=notes)


def _finish(result: EditRunResult, bench: str, out: str, allowed: float) -> None:
    """Print the next command, or exit with a status."""
    console.exit_if_stopped(result.stopped, "made")
    if result.statuses["done"]:
        console.print_note(f"Now: creval judge {quote(bench)} --edits {quote(out)} --judge SPEC --run RUN")
    console.exit_if_too_many_missing(
        result.share_missing, allowed, f"of the {'edits' if result.draws > 1 else 'samples'} have no image"
    )
