"""`creval sensitivity`: what other weights would say."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options


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
    from creval.api import analyses
    from creval.store import open_run

    with open_run(run) as opened:
        found = analyses.sensitivity(
            opened,
            human=human,
            scale=scale,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            missing=missing,
            common_samples=common_samples,
        )
    console.print_output(found.output, json)
