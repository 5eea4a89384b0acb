"""`creval align`: automatic scores held against people."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from creval.cli import console, options


def align(
    human: Annotated[str, typer.Option(metavar="FILE", help="What people said: a CSV of ratings or choices.")],
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)] = None,
    scores: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead of a run: a CSV of any metrics' scores.")
    ] = None,
    scale: options.Scale = None,
    lower: Annotated[
        str | None, typer.Option(metavar="A,B", help="Metrics of --scores of which less is better.")
    ] = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Hold a run's scores, or any metric's, against people's ratings or choices."""
    from creval.api import analyses
    from creval.store import open_run

    with nullcontext() if run is None else open_run(run) as opened:
        found = analyses.align(
            opened,
            human=human,
            scores=scores,
            scale=scale,
            lower=options.parse_names(lower, "--lower"),
            subset=subset,
            strict=strict,
            # Weights without a run are refused, whatever they are.
            weights=weights if opened is None else options.parse_weights(weights, opened.manifest),
            resamples=resamples,
            seed=seed,
        )
    console.print_output(found.output, json)
