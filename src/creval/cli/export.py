"""`creval export`: a run to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, options


def export(
    run: options.RunFolder,
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder to write.")],
    models: options.Models = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that holds other things, too.")] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write verdicts and scores as Parquet and CSV, tables to paste, and a JSON."""
    from creval.api import outputs
    from creval.store import open_run

    with open_run(run) as opened:
        files = outputs.export(
            opened,
            out,
            force=force,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            models=options.parse_names(models, "--models"),
            resamples=resamples,
            seed=seed,
            missing=missing,
            common_samples=common_samples,
        )
    console.print_note(f"wrote {len(files)} files into {out}; {Path(out) / 'README.md'} says what each is")
