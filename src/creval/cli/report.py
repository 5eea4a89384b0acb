"""`creval report`: a run as a page to look at."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import console, options

_LARGE = 15.0  # MB


def report(
    run: options.RunFolder,
    out: Annotated[str, typer.Option(metavar="FILE", help="The page: one file that opens anywhere.")] = "report.html",
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    models: options.Models = None,
    images: Annotated[
        str, typer.Option(metavar="inside|link", help="Thumbnails inside, or links to the files.")
    ] = "inside",
    samples: Annotated[int, typer.Option(min=0, max=100, help="How many samples of each kind to show.")] = 6,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write a page: the answer in words, tables, plots, and samples to look at."""
    from creval.api import outputs
    from creval.store import open_run

    with open_run(run) as opened:
        path = outputs.report(
            opened,
            out,
            images=images,
            samples=samples,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            models=options.parse_names(models, "--models"),
            resamples=resamples,
            seed=seed,
            missing=missing,
            common_samples=common_samples,
        )
    size = path.stat().st_size / 1e6
    console.print_note(f"wrote {out} ({size:.1f} MB)")
    if size > _LARGE:
        console.print_note("That is large for a page: --samples N shows fewer, --images link puts none in.")
