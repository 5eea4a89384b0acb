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
    from creval.analysis.score_table import score as score_run
    from creval.analysis.unchanged import followed_from
    from creval.analysis.unchanged import unchanged as measured
    from creval.analysis.unchanged_scan import look_for_changes
    from creval.report.commands.unchanged import changes
    from creval.store import open_run

    line = console.Line()
    lost = look_for_changes(run, console.counting(line, "edits looked at"))
    line.clear()
    with open_run(run) as opened:
        card = score_run(opened, subset=subset, resamples=resamples, seed=seed)
        found = measured(opened, card, resamples, seed)
    console.show(changes(found, followed_from(card), lost), json)
