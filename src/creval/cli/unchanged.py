"""`creval unchanged`: who did nothing."""

from __future__ import annotations

from creval.cli import console, options


def unchanged(
    run: options.RunFolder,
    subset: options.Subset = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Say which models left sources as they were, and what those who did something kept."""
    from creval.api import analyses

    console.print_output(analyses.unchanged(run, subset=subset, resamples=resamples, seed=seed).output, json)
