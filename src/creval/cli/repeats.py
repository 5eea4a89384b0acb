"""`creval repeats`: how often one has to measure."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


def repeats(
    run: options.RunFolder,
    error: Annotated[
        float | None, typer.Option(min=0.0, help="Say how many measurements vary by no more than this.")
    ] = None,
    json: options.Json = False,
    seed: options.Seed = 0,
) -> None:
    """Say how much scores vary between repeats, and how many a wanted error needs."""
    from creval.api import analyses

    console.print_output(analyses.repeats(run, error=error, seed=seed).output, json)
