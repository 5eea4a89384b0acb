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
        str | None, typer.Option(metavar="FILE", help="Also say which weights people agree with most (CSV).")
    ] = None,
    scale: options.Scale = None,
    json: options.Json = False,
) -> None:
    """Say who would be best under other weights of the metrics, and how stable the order is."""
    from creval.analysis.scoring import score as score_run
    from creval.core.human_ratings import parse_rating_scale, read_human_ratings
    from creval.reporting import missing_edits as absent
    from creval.reporting.commands.alignment_output import unused_rating_sentences
    from creval.reporting.commands.sensitivity_output import sensitivity_output as shown
    from creval.stats.human.weight_fit import WeightAgreement, find_agreeing_weights
    from creval.stats.weight_sensitivity import analyse_sensitivity as measured
    from creval.store import open_run

    if scale is not None and human is None:
        raise CrevalError("--scale goes with --human FILE.")
    with open_run(run) as opened:
        card = score_run(
            opened,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            resamples=100,
            missing=missing,
            common=common_samples,
        )
        notes = absent.missing_policy_sentences(card.table, absent.missing_from_table(opened, card.table))
    found = measured(card)
    people: dict[str, WeightAgreement] = {}
    if human:
        said = read_human_ratings(human, None if scale is None else parse_rating_scale(scale))
        people, unmatched = find_agreeing_weights(said.ratings, card.table, found)
        notes += unused_rating_sentences({human: said.skipped_rows}, unmatched)
        if not people:
            raise CrevalError(f"--human {human}: too few ratings of this run's edits to tell anything.")
    console.print_output(shown(found, people, notes), json)
