"""`creval sensitivity`: what other weights would say."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError


def sensitivity(
    run: options.RunFolder,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    human: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also say which weights people agree with most (CSV)."),
    ] = None,
    scale: options.Scale = None,
    json: options.Json = False,
) -> None:
    """Say who would be best under other weights of the metrics, and how stable the order is."""
    from creval.analysis.score_table import score as score_run
    from creval.core.human_ratings import read_people, scale_named
    from creval.report import missing as absent
    from creval.report.commands.alignment import lost
    from creval.report.commands.sensitivity import weights as shown
    from creval.stats.human.weight_fit import AgreedWeights, agreed_weights
    from creval.stats.sensitivity import sensitivity as measured
    from creval.store import open_run

    if scale is not None and human is None:
        raise CrevalError("--scale goes with --human FILE.")
    with open_run(run) as opened:
        card = score_run(opened,
            strict=strict, subset=subset,
            weights=options.weights(weights, opened.manifest), resamples=100,
            missing=missing, common=common_samples,
        )  # fmt: skip
        notes = absent.rule(card.table, absent.of_table(opened, card.table))
    found = measured(card)
    people: dict[str, AgreedWeights] = {}
    if human:
        said = read_people(human, None if scale is None else scale_named(scale))
        people, unmatched = agreed_weights(said.ratings, card.table, found)
        notes += lost({human: said.left_out}, unmatched)
        if not people:
            raise CrevalError(
                f"--human {human}: too few ratings of this run's edits to tell anything."
            )
    console.show(shown(found, people, notes), json)
