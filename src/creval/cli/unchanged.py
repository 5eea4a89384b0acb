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
    from creval.analysis.scoring import score as score_run
    from creval.analysis.unchanged_edits import following_threshold
    from creval.analysis.unchanged_edits import summarise_unchanged as measured
    from creval.analysis.unchanged_scan import scan_for_changes
    from creval.reporting.commands.unchanged_output import unchanged_output
    from creval.store import open_run

    line = console.ProgressLine()
    lost = scan_for_changes(run, console.count_progress(line, "edits looked at"))
    line.clear()
    with open_run(run) as opened:
        card = score_run(opened, subset=subset, resamples=resamples, seed=seed)
        found = measured(opened, card, resamples, seed)
    console.print_output(unchanged_output(found, following_threshold(card), lost), json)
