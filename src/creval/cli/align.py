"""`creval align`: automatic scores held against people."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, require_known


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
    from creval.analysis.scoring import build_score_table
    from creval.core.human_ratings import parse_rating_scale, read_human_ratings, read_score_file
    from creval.reporting.commands.alignment_output import alignment_output
    from creval.stats.human.alignment import align as aligned
    from creval.stats.human.ratings import metric_scores_from_rows, metric_scores_from_table
    from creval.store import open_run

    if (run is None) == (scores is None):
        raise CrevalError("give either the folder of a run or --scores FILE.")
    said = read_human_ratings(human, None if scale is None else parse_rating_scale(scale))
    left_out = {human: said.skipped_rows}
    if scores is not None:
        if subset is not None or strict or weights is not None:
            raise CrevalError("--subset, --strict and --weights are for a run, not for --scores.")
        file = read_score_file(scores)
        left_out[scores] = file.skipped_rows
        less = options.parse_names(lower, "--lower") or ()
        for name in less:
            require_known("metric", name, (row.metric for row in file.rows))
        held = metric_scores_from_rows(file.rows, less)
    else:
        if lower is not None:
            raise CrevalError("--lower is for --scores; a run knows its metrics.")
        with open_run(str(run)) as opened:
            table = build_score_table(
                opened, strict=strict, subset=subset, weights=options.parse_weights(weights, opened.manifest)
            )
        held = metric_scores_from_table(table)
    found = aligned(said.ratings, held, resamples=resamples, seed=seed)
    console.print_output(alignment_output(found, left_out), json)
