"""`creval agree`: how far judges, repeats or people agree."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, require_known


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
    from creval.analysis.answer_tables import collect_answers, collect_rater_answers
    from creval.core.human_ratings import parse_rating_scale, read_human_ratings
    from creval.reporting.commands.agreement_output import agreement_output
    from creval.stats.agreement import DISTANCE_NAMES, agreement_by_group
    from creval.store import open_run

    if distance is not None:
        require_known("distance", distance, DISTANCE_NAMES)
    if not runs and human is None:
        raise CrevalError("give one or more runs, or --human FILE.")
    if scale is not None and human is None:
        raise CrevalError("--scale goes with --human FILE.")
    with ExitStack() as stack:
        opened = [stack.enter_context(open_run(run)) for run in runs or ()]
        levels = {level.name: level for run in opened for level in run.levels if level.groups_samples}
        if human is None:
            table = collect_answers(opened)
        else:
            said = read_human_ratings(human, None if scale is None else parse_rating_scale(scale))
            tags = {name: s.tags for run in opened for name, s in run.samples.items()}
            table = collect_rater_answers(said.ratings, tags)
    if by is not None and not opened:
        raise CrevalError("--by needs a run, which knows the groups of samples: give it too.")
    level = None if by is None else levels[require_known("level", by, levels)]
    found = agreement_by_group(table, level, distance, resamples, seed)
    console.print_output(agreement_output(table, found, distance), json)
