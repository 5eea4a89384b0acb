"""`creval compare`: two models side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


def compare(
    run: options.RunFolder,
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    top: Annotated[int, typer.Option(min=0, help="How many samples to show.")] = 5,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Compare two models on the samples that both have: by how much they differ, and where."""
    from creval.api import analyses
    from creval.store import open_run

    with open_run(run) as opened:
        found = analyses.compare(
            opened,
            first,
            second,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            resamples=resamples,
            seed=seed,
            top=top,
            missing=missing,
        )
    console.print_output(found.output, json)
