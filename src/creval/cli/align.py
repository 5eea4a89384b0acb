"""`creval align`: automatic scores held against people."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, known_name


def align(
    human: Annotated[
        str, typer.Option(metavar="FILE", help="What people said: a CSV of ratings or choices.")
    ],
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Instead of a run: a CSV of any metrics' scores."),
    ] = None,
    scale: options.Scale = None,
    lower: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Metrics of --scores of which less is better."),
    ] = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Hold a run's scores, or any metric's, against people's ratings or choices."""
    from creval.analysis.score_table import tabulate
    from creval.core.human_ratings import read_people, read_scores, scale_named
    from creval.report.commands.alignment import people
    from creval.stats.human.alignment import align as aligned
    from creval.stats.human.ratings import scores_of_rows, scores_of_table
    from creval.store import open_run

    if (run is None) == (scores is None):
        raise CrevalError("give either the folder of a run or --scores FILE.")
    said = read_people(human, None if scale is None else scale_named(scale))
    left_out = {human: said.left_out}
    if scores is not None:
        if subset is not None or strict or weights is not None:
            raise CrevalError("--subset, --strict and --weights are for a run, not for --scores.")
        file = read_scores(scores)
        left_out[scores] = file.left_out
        less = options.names(lower, "--lower") or ()
        for name in less:
            known_name("metric", name, (row.metric for row in file.rows))
        held = scores_of_rows(file.rows, less)
    else:
        if lower is not None:
            raise CrevalError("--lower is for --scores; a run knows its metrics.")
        with open_run(str(run)) as opened:
            table = tabulate(
                opened,
                strict=strict,
                subset=subset,
                weights=options.weights(weights, opened.manifest),
            )
        held = scores_of_table(table)
    found = aligned(said.ratings, held, resamples=resamples, seed=seed)
    console.show(people(found, left_out), json)
