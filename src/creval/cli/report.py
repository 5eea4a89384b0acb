"""`creval report`: a run as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError

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
    from creval.analysis.scoring import score as score_run
    from creval.core.files import atomic_write
    from creval.reporting.html import report_page
    from creval.store import open_run

    if images not in ("inside", "link"):
        raise CrevalError(f"--images takes inside or link, not {images!r}.")
    path = Path(out)
    if path.is_dir():
        raise CrevalError(f"--out {out} is a folder; give a file, such as report.html.")
    if path.suffix.casefold() not in (".html", ".htm"):
        raise CrevalError(f"--out {out}: give a file that ends in .html.")
    line = console.ProgressLine()
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
        content = report_page(
            opened,
            card,
            resamples,
            samples_per_section=samples,
            link=path.parent if images == "link" else None,
            watch=console.count_progress(line, "samples shown"),
        )
    line.clear()
    size = atomic_write(path, content) / 1e6
    console.print_note(f"wrote {out} ({size:.1f} MB)")
    if size > _LARGE:
        console.print_note("That is large for a page: --samples N shows fewer, --images link puts none in.")
