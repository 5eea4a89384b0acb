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
    from creval.analysis.measurement_repeats import measure_repeat_variation as measured
    from creval.reporting.commands.repeats_output import repeats_output as shown
    from creval.store import open_run

    with open_run(run) as opened:
        found = measured(opened, seed)
    console.print_output(shown(found, error), json)
