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
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that holds other things, too.")
    ] = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write verdicts and scores as Parquet and CSV, tables to paste, and a JSON."""
    from creval.analysis.score_table import score as score_run
    from creval.report.export import check
    from creval.report.export import export as write
    from creval.store import open_run

    check(Path(out), force=force)
    with open_run(run) as opened:
        card = score_run(opened,
            strict=strict, subset=subset, weights=options.weights(weights, opened.manifest),
            systems=options.names(models, "--models"), resamples=resamples, seed=seed,
            missing=missing, common=common_samples,
        )  # fmt: skip
        line = console.Line()
        watch = console.counting(line, "verdicts written")
        names = write(opened, card, out, resamples=resamples, force=force, watch=watch)
    line.clear()
    console.note(
        f"wrote {len(names)} files into {out}; {Path(out) / 'README.md'} says what each is"
    )
