"""`creval edit`: let an editing model make the edits that are judged."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, estimates, exit_status, options

if TYPE_CHECKING:
    from creval.calls.retry import Progress
    from creval.editing.run import Edited, EditRun
    from creval.report.output import Findings

_SHOWN = 8  # reasons in a note
_ODD = {
    "same_as_source": "the same as its source, pixel by pixel",
    "another_size": "of another size than its source",
    "another_shape": "of another shape than its source",
    "no_longer_transparent": "opaque where its source is transparent",
}


def edit(
    bench: options.Benchmark,
    editor: Annotated[
        str, typer.Option(metavar="SPEC", help="openai:gpt-image-1, command:'PROGRAM ...' ...")
    ],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="The model's folder; its name is the model's.")
    ],
    strategy: Annotated[
        str,
        typer.Option(metavar="NAME+NAME", help="direct, sequential, best-of:N, reasoned."),
    ] = "direct",
    judge: Annotated[str, typer.Option(metavar="SPEC", help="Who picks, for best-of.")] = "",
    reasoner: Annotated[str, typer.Option(metavar="SPEC", help="Who plans, for reasoned.")] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the editor."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only N samples, spread over dimensions.")
    ] = None,
    subset: options.Subset = None,
    dimension: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these dimensions or categories.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The first draw's seed; the next has one more.")
    ] = 0,
    concurrency: Annotated[
        int, typer.Option(min=1, max=1024, help="Pictures under way at once.")
    ] = 4,
    attempts: Annotated[
        int, typer.Option(min=1, help="Ask up to N times for a picture that does not come.")
    ] = 5,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a picture.")] = 600.0,
    rpm: options.Rpm = None,
    prompts: options.Prompts = None,
    price: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="US dollars a picture.")
    ] = None,
    token_price: Annotated[
        str | None,
        typer.Option(metavar="IN,OUT", help="Of judge and reasoner: US dollars a million tokens."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="5USD", help="Stop when the folder has cost so much.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="The variable with the editor's key.")
    ] = None,
    max_unanswered: Annotated[
        str, typer.Option(metavar="PERCENT", help="Exit with 1 if more samples have no picture.")
    ] = "0.5",
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Let a model edit every sample; go on where it stopped."""
    from creval.benchmarks import open_benchmark
    from creval.editing.run import EditRun, Use
    from creval.editing.session import EditSettings
    from creval.editors.base import EditorOptions
    from creval.judging.plan import chosen

    allowed = options.percent(max_unanswered)
    benchmark = open_benchmark(bench)
    samples = chosen(
        benchmark, groups=options.names(dimension, "--dimension"), limit=limit, subset=subset
    )
    run = EditRun(
        benchmark,
        samples,
        editor,
        Path(out),
        Use(strategy, judge, reasoner, options.dollars_a_million(token_price), prompts),
        EditorOptions(options.parameters(set_ or ()), timeout=timeout, concurrency=concurrency,
                      price=price, key=key_env),
        EditSettings(concurrency, attempts, rpm, options.dollars(budget), seed),
        dry=dry_run,
    )  # fmt: skip
    expected = run.estimate()
    if dry_run:
        price_flag = "--price USD (of helpers --token-price IN,OUT)"
        estimates.show(expected, concurrency, json, (len(samples), "sample"), price_flag)
        for line in _not_asked(run):
            console.note(line)
        return
    console.note(estimates.in_a_line(expected))
    shown = console.Line()
    try:
        edited = run.run(_watcher(shown))
    finally:
        shown.clear()
    console.show(_findings(edited), json)
    _end(edited, bench, out, allowed)


def _not_asked(run: EditRun) -> list[str]:
    """How many pictures nobody will be asked for, and why."""
    from creval.core.formatting import many, visible

    counted = Counter((edit.status, edit.reason) for edit in run.skipped.values())
    return [
        visible(f"{many(number, 'sample')} {status}: {reason}")
        for (status, reason), number in counted.most_common(_SHOWN)
    ]


def _watcher(line: console.Line) -> Callable[[str, Progress], None]:
    from creval.core.formatting import duration, money

    def watch(what: str, progress: Progress) -> None:
        if not line.due():
            return
        if progress.stopping:
            line.show(f"stopping: {progress.under_way:,} under way are finished first")
            return
        rate = (progress.done - progress.cached) / (time.monotonic() - progress.began)
        unit = "pictures" if what == "editing" else "calls"
        parts = [f"{what}: {progress.done:,} of {progress.calls:,} {unit}"]
        if progress.cost:
            parts.append(money(progress.cost))
        faults = sum(progress.faults.values())
        if faults:
            parts.append(f"{faults:,} faults ({progress.faults.most_common(1)[0][0]})")
        if rate:
            parts.append(f"{duration((progress.calls - progress.done) / rate)} left")
        line.show(", ".join(parts))

    return watch


def _findings(edited: Edited) -> Findings:
    from creval.core.formatting import duration, many, money, visible
    from creval.report.output import Findings, Grid

    progress, statuses = edited.progress, edited.statuses
    names = list(dict.fromkeys(["done", "refused", "failed", *statuses]))
    row = [f"{edited.wanted:,}", *(f"{statuses[name]:,}" for name in names)]
    notes = [visible(line) for line in edited.notes]
    notes += [f"{many(n, 'edit')}: {_ODD[name]}" for name, n in edited.odd.most_common()]
    lost = sum(number for _, number in edited.reasons)
    if lost:
        notes.append(f"{many(lost, 'sample')} without a picture:")
        notes += [visible(f"  {n:,} {reason}") for reason, n in edited.reasons[:_SHOWN]]
        if statuses["refused"] or statuses["failed"]:
            others = statuses.keys() - {"done", "refused", "failed"}
            which = "those that were refused or failed" if others else "them"
            notes.append(f"Repeating the command asks for {which} once more.")
    if progress.faults:
        kinds = ", ".join(f"{kind} {n}" for kind, n in progress.faults.most_common(_SHOWN))
        notes.append(visible(f"calls that brought no picture: {kinds}"))
    kept = f"; {progress.cached:,} were there already" if progress.cached else ""
    spent = f", {money(edited.cost)} for the whole folder" if edited.cost else ""
    passed = duration(time.monotonic() - progress.began)
    notes.append(f"{many(progress.made, 'call')} in {passed}{kept}{spent}")
    data: dict[str, Any] = {
        "samples": edited.wanted,
        "statuses": dict(statuses),
        "reasons": [{"reason": reason, "samples": n} for reason, n in edited.reasons],
        "odd": dict(edited.odd),
        "calls": progress.made,
        "cached": progress.cached,
        "faults": dict(progress.faults),
        "cost": edited.cost,
        "stopped": edited.stopped or None,
    }
    return Findings((), [Grid(["samples", *names], [row], left=0)], data, notes=notes)


def _end(edited: Edited, bench: str, out: str, allowed: float) -> None:
    """What comes next, or the exit status."""
    exit_status.exit_if_stopped(edited.stopped, "made")
    if edited.statuses["done"]:
        console.note(
            f"Now: creval judge {quote(bench)} --edits {quote(out)} --judge SPEC --run RUN"
        )
    exit_status.exit_if_too_many(edited.share_missing, allowed, "of the samples have no picture")
