"""`creval unchanged`: who did nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import options, screen


def unchanged(
    run: options.RunFolder,
    subset: options.Subset = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw following against keeping: .svg, .png or .pdf."),
    ] = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Say which models left sources as they were, and what those who did something kept."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.engine.changes import look_for_changes
    from creval.report.sentences import idle
    from creval.report.text import interval, value, visible
    from creval.stats.unchanged import FOLLOWED
    from creval.stats.unchanged import unchanged as measured
    from creval.store import open_run

    line = screen.Line()
    lost = look_for_changes(run, screen.counting(line, "edits looked at"))
    line.clear()
    with open_run(run) as opened:
        card = opened.score(subset=subset, resamples=resamples, seed=seed)
        found = measured(opened, card)
    if plot:
        from creval.report.plots import plane, save

        keep = "VC" if "VC" in card.table.card.columns else "IP"
        save(plane(card, "IF", keep), plot)
        screen.note(f"wrote {plot}")
    if json:
        screen.print_json(
            [
                {
                    "model": one.system,
                    "unchanged": one.unchanged.found,
                    "edits": one.unchanged.total,
                    "share": one.unchanged.value,
                    "share_ends": list(one.unchanged.ends),
                    "following": one.following,
                    "keeping": one.keeping,
                    "followed": one.followed,
                    "kept_when_followed": one.kept,
                    "kept_ends": [one.low, one.high],
                }
                for one in found
            ]
        )
        return
    out = screen.console()
    out.print(idle(found))
    table = Table(
        "model", "edits", "unchanged", "95 %", "IF", "kept", "followed", "kept by those", "95 %",
        box=SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    for one in found:
        share, (low, high) = one.unchanged.value, one.unchanged.ends
        ends = "" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"
        table.add_row(
            Text(visible(one.system)),
            f"{one.unchanged.total:,}",
            "–" if share is None else f"{100 * share:.1f} %",
            ends,
            value(one.following),
            value(one.keeping),
            f"{one.followed:,}",
            value(one.kept),
            interval(one.low, one.high),
        )
    out.print(table)
    screen.note(
        "unchanged: edits that differ from their source no more than storing it again would make; "
        f"followed: samples with IF of {FOLLOWED:g} or more."
    )
    if lost:
        screen.note(f"{lost:,} edits have no picture, or no source, that could be looked at.")
