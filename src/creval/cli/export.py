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
    from creval.analysis.scoring import score as score_run
    from creval.reporting.export import check_export_folder
    from creval.reporting.export import export_run as write
    from creval.store import open_run

    check_export_folder(Path(out), force=force)
    with open_run(run) as opened:
        card = score_run(
            opened,
            strict=strict,
            subset=subset,
            weights=options.parse_weights(weights, opened.manifest),
            models=options.parse_names(models, "--models"),
            resamples=resamples,
            seed=seed,
            missing=missing,
            common=common_samples,
        )
        line = console.ProgressLine()
        watch = console.count_progress(line, "verdicts written")
        names = write(opened, card, out, resamples=resamples, force=force, watch=watch)
    line.clear()
    console.print_note(f"wrote {len(names)} files into {out}; {Path(out) / 'README.md'} says what each is")
