"""`creval repeats`: how often one has to measure."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import options, screen


def repeats(
    run: options.RunFolder,
    error: Annotated[
        float | None,
        typer.Option(min=0.0, help="Say how many measurements vary by no more than this."),
    ] = None,
    json: options.Json = False,
    seed: options.Seed = 0,
) -> None:
    """Say how much scores vary between repeats, and how many a wanted error needs."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from creval.report.sentences import repeated
    from creval.report.text import visible
    from creval.stats.repeats import repeats as measured
    from creval.store import open_run

    with open_run(run) as opened:
        found = measured(opened, seed)
    metrics = list(found.values)
    counts = sorted({count for observed in found.observed.values() for count in observed})
    if json:
        screen.print_json(
            {
                metric: {
                    "measurements": int(found.values[metric].shape[1]),
                    "deviation": found.deviation[metric],
                    "variation": {str(n): v for n, v in found.observed[metric].items()},
                    "needed": None if error is None else found.needed(metric, error),
                }
                for metric in metrics
            }
        )
        return
    out = screen.console()
    out.print(repeated(found, error))
    table = Table("measurements", *map(visible, metrics), box=SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    further = [n for n in (1, 2, 5, 10, 20, 50) if n not in counts]
    for count in sorted([*counts, *further]):
        row = [f"{found.variation(metric, count):.3f}" for metric in metrics]
        follows = count not in counts
        table.add_row(f"{count}", *row, style="dim" if follows else "")
    out.print(table)
    screen.note(
        "The variation of a sample's mean over so many measurements: half the range of four such "
        "means over distinct measurements, averaged over samples. Dim rows are not observed; they "
        "follow from how single measurements scatter."
    )
