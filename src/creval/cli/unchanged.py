"""`creval unchanged`: who did nothing."""

from __future__ import annotations

from creval.cli import options, screen


def unchanged(
    run: options.RunFolder,
    subset: options.Subset = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Say which models left sources as they were, and what those who did something kept."""
    from creval.engine.changes import look_for_changes
    from creval.report.changes import changes
    from creval.stats.unchanged import followed_from
    from creval.stats.unchanged import unchanged as measured
    from creval.store import open_run

    line = screen.Line()
    lost = look_for_changes(run, screen.counting(line, "edits looked at"))
    line.clear()
    with open_run(run) as opened:
        card = opened.score(subset=subset, resamples=resamples, seed=seed)
        found = measured(opened, card, resamples, seed)
    screen.show(changes(found, followed_from(card), lost), json)
