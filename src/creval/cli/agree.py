"""`creval agree`: how far judges, repeats or people agree."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


def agree(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Runs of the same benchmark, or one.")
    ] = None,
    human: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead: how far people agree with each other (CSV).")
    ] = None,
    scale: options.Scale = None,
    by: Annotated[str | None, typer.Option(metavar="LEVEL", help="Also by group: category, dimension ...")] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            metavar="nominal|ordinal|interval",
            help="What counts as near in Krippendorff's alpha; by default as the answers are.",
        ),
    ] = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Say how far judges and repeats, or people, agree with each other."""
    from creval.api import analyses

    found = analyses.agree(
        runs or (), human=human, scale=scale, by=by, distance=distance, resamples=resamples, seed=seed
    )
    console.print_output(found.output, json)
