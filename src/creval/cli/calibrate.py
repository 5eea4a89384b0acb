"""`creval calibrate`: how far a judge can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, estimate_output, options


def calibrate(
    judge: Annotated[str, typer.Option(metavar="SPEC", help="openai:gpt-4o, pixel ...")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the rates go, as JSON.")],
    samples: Annotated[int, typer.Option(min=6, max=9999, help="How many edits.")] = 60,
    repeat: Annotated[int, typer.Option(min=1, help="Ask what is as it is K times.")] = 2,
    variants: Annotated[bool, typer.Option("--variants/--no-variants", help="Also ask in changed ways.")] = True,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Calls at once.")] = 32,
    price: options.Price = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other images.")] = 0,
    json: options.Json = False,
    dry_run: options.DryRun = False,
) -> None:
    """Ask a judge questions whose answers are known, and say what to trust it for."""
    from creval.api import runs
    from creval.calls.settings import Settings

    settings = Settings(temperature=0.0, concurrency=concurrency, price=options.parse_token_price(price))
    found = runs.calibrate(
        judge,
        out,
        samples=samples,
        repeat=repeat,
        variants=variants,
        settings=settings,
        seed=seed,
        dry_run=dry_run,
        on_estimate=lambda expected: console.print_note(estimate_output.format_estimates(expected)),
    )
    if found is None:
        return
    console.print_output(found.output, json)
    page = Path(out).with_suffix(".html")
    console.print_note(f"wrote {out}, for creval score RUN --correct {out}, and {page}, to look at.")
