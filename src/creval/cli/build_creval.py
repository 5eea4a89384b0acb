"""`creval build creval`: instructions and questions for one's own pictures."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import building, estimates, options, screen

if TYPE_CHECKING:
    from creval.build.creval_run import Built
    from creval.report.findings import Findings

_SHOWN = 8  # reasons in a note


def creval(
    images: building.Images,
    out: building.Out,
    writer: Annotated[
        str, typer.Option(metavar="SPEC", help="Who writes instructions: openai:gpt-4o ...")
    ],
    asker: Annotated[
        str, typer.Option(metavar="SPEC", help="Who writes questions; better not the writer.")
    ] = "",
    checker: Annotated[
        str, typer.Option(metavar="SPEC", help="Who answers on the source alone; else the writer.")
    ] = "",
    dimension: Annotated[
        str, typer.Option(metavar="NAME|balanced|fitting", help="fitting: the writer chooses.")
    ] = "balanced",
    instructions: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your own, CSV or JSON, by picture.")
    ] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Add checkable attributes to your own.")
    ] = False,
    no_blind: Annotated[
        bool, typer.Option("--no-blind", help="Do not check questions on the source alone.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N pictures.")] = None,
    concurrency: building.Concurrency = 16,
    retries: building.Retries = 2,
    attempts: building.Attempts = 12,
    timeout: building.Timeout = 300.0,
    rpm: building.Rpm = None,
    tpm: Annotated[float | None, typer.Option(min=1, help="Tokens a minute.")] = None,
    image_fit: Annotated[
        str, typer.Option(metavar="provider|original|PIXELS", help="The size of pictures.")
    ] = "provider",
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of the writer, 1 if not given; others have 0.")
    ] = None,
    prompts: building.Prompts = None,
    price: building.Price = None,
    budget: building.Budget = None,
    key_env: building.KeyEnv = None,
    max_unanswered: building.MaxUnanswered = "0.5",
    seed: Annotated[int, typer.Option(min=0, help="Other dimensions for pictures.")] = 0,
    review: building.ReviewFlag = False,
    dry_run: building.DryRun = False,
    json: options.Json = False,
) -> None:
    """Write instructions and questions for your pictures; go on where it stopped."""
    from creval.build.creval_run import Building, Wish
    from creval.engine.settings import Settings
    from creval.report.text import many, visible

    allowed = options.percent(max_unanswered)
    settings = Settings(
        image_fit=image_fit,
        prompts=prompts,
        limit=limit,
        seed=seed,
        concurrency=concurrency,
        retries=retries,
        attempts=attempts,
        timeout=timeout,
        requests_a_minute=rpm,
        tokens_a_minute=tpm,
        budget=options.dollars(budget),
        price=options.dollars_a_million(price),
        key=key_env,
    )
    wish = Wish(dimension, Path(instructions) if instructions else None, rewrite, not no_blind)
    roles = {"writer": writer, "asker": asker or writer, "checker": checker or writer}
    work = Building(
        Path(images), Path(out), roles, wish, settings, temperature=temperature, dry=dry_run
    )
    for line in work.warnings():
        screen.note(visible(line))
    if dry_run:
        estimates.show(work.estimate(), concurrency, json, (len(work.sources), "picture"))
        return
    pictures = many(len(work.sources), "picture")
    screen.note(f"{pictures}: about {estimates.in_a_line(work.estimate())}")
    shown = screen.Line()
    try:
        built = work.run(building.watcher(shown))
    finally:
        shown.clear()
    screen.show(_findings(built), json)
    _note(built, out)
    _end(built, out, allowed, review)


def _end(built: Built, out: str, allowed: float, review: bool) -> None:
    """What comes next, or the exit status."""
    if built.stopped == "interrupted":
        screen.note("stopped: what was answered is kept; repeat the command to go on.")
        raise typer.Exit(130)
    if built.stopped == "budget":
        screen.note("stopped: the budget is reached; raise it to go on.")
        raise typer.Exit(1)
    if review:
        _review(Path(out))
    elif built.samples:
        screen.note(f"Now: creval bench {quote(out)}")
    if built.share_left_out > allowed:
        share = f"{100 * built.share_left_out:.1f} %"
        screen.note(f"{share} of the pictures were left out: exit status 1 (--max-unanswered).")
        raise typer.Exit(1)


def _review(folder: Path) -> None:
    """Let people look through what was made."""
    from creval.build.creval_review import CrevalReview

    building.open_review(CrevalReview(folder))


def _findings(built: Built) -> Findings:
    from creval.benchmarks.creval_release import METRICS
    from creval.report.findings import Findings, Grid

    progress = built.progress
    counts = [f"{built.questions[metric]:,}" for metric in METRICS]
    row = [f"{built.pictures:,}", f"{built.samples:,}", f"{len(built.left_out):,}", *counts]
    row += [f"{sum(built.rejected.values()):,}", f"{built.flagged:,}"]
    heads = ["pictures", "samples", "left out", *METRICS, "rejected", "flagged"]
    data = {
        "pictures": built.pictures,
        "samples": built.samples,
        "left_out": built.left_out,
        "questions": {metric: built.questions[metric] for metric in METRICS},
        "rejected": dict(sorted(built.rejected.items())),
        "flagged": built.flagged,
        "left_alone": built.alone,
        "calls": progress.made,
        "cached": progress.cached,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.cost,
        "stopped": built.stopped or None,
    }
    return Findings((), [Grid(heads, [row], left=0)], data)


def _note(built: Built, out: str) -> None:
    """What else there is to know, on standard error."""
    from creval.build.creval_folder import RECORD
    from creval.report.text import count, duration, many, money, visible

    for line in built.notes:
        screen.note(visible(line))
    for name, reason in list(built.left_out.items())[:_SHOWN]:
        screen.note(visible(f"{name} is left out: {reason}"))
    if len(built.left_out) > _SHOWN:
        screen.note(f"... and {len(built.left_out) - _SHOWN} more: {quote(out)}/{RECORD}")
    if built.rejected:
        rules = ", ".join(f"{rule} {n}" for rule, n in built.rejected.most_common(_SHOWN))
        screen.note(f"what was rejected, by rule: {rules}; each with its reason in {RECORD}")
    if built.flagged:
        screen.note(
            f"{many(built.flagged, 'question')} kept although flagged, because too few were left: "
            'look for "flag"'
        )
    for name in built.alone[:_SHOWN]:
        screen.note(visible(f"not written over, because somebody changed it: {name}"))
    if len(built.alone) > _SHOWN:
        screen.note(f"... and {len(built.alone) - _SHOWN} more")
    progress = built.progress
    if progress.faults:
        kinds = ", ".join(f"{kind} {n}" for kind, n in progress.faults.most_common(_SHOWN))
        screen.note(visible(f"calls that brought no answer: {kinds}"))
    tokens = progress.tokens_in + progress.tokens_out
    spent = f", {money(progress.cost)}" if progress.cost else ""
    screen.note(
        f"{progress.made:,} calls in {duration(time.monotonic() - progress.began)}"
        + (f", {count(tokens)} tokens{spent}" if tokens else "")
        + (f"; {progress.cached:,} were answered already" if progress.cached else "")
    )
