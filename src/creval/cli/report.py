"""`creval report`: a run as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creval.cli import options, screen


def report(
    run: options.RunFolder,
    out: Annotated[
        str, typer.Option(metavar="FILE", help="The page: one file that opens anywhere.")
    ] = "report.html",
    subset: options.Subset = None,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Write a page with the scores and with samples to look at."""
    from creval.report.page import page
    from creval.store import open_run

    with open_run(run) as opened:
        card = opened.score(subset=subset, resamples=resamples, seed=seed)
        content = page(opened, card, resamples)
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    screen.note(f"wrote {out} ({len(content) / 1e6:.1f} MB)")
