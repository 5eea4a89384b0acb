"""`creval sensitivity`: what other weights would say."""

from __future__ import annotations

from typing import Annotated

import typer

from creval.cli import options, screen


def sensitivity(
    run: options.RunFolder,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw all weights: .svg, .png or .pdf.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Say who would be best under other weights of the metrics, and how stable the order is."""
    import numpy as np
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.report.sentences import weighed
    from creval.report.text import visible
    from creval.stats.sensitivity import sensitivity as measured
    from creval.store import open_run

    with open_run(run) as opened:
        card = opened.score(
            strict=strict, subset=subset, weights=options.weights(weights), resamples=100
        )
    found = measured(card)
    if plot:
        from creval.report.plots import save, ternary

        save(ternary(found), plot)
        screen.note(f"wrote {plot}")
    low, middle = float(np.nanmin(found.tau)), float(np.nanmean(found.tau))
    if json:
        screen.print_json(
            {
                "weights": dict(zip(found.metrics, found.own, strict=True)),
                "models": {
                    name: {
                        "wins": found.wins[name],
                        "places": list(found.places[name]),
                        "passes_after": found.changes.get(name),
                    }
                    for name in found.systems
                },
                "tau": {"mean": middle, "least": low},
                "choices": len(found.weights),
            }
        )
        return
    out = screen.console()
    out.print(weighed(found))
    table = Table("model", *found.metrics, "best under", "places", "passes the best after",
                  box=SIMPLE_HEAD, pad_edge=False)  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    for name in found.systems:
        first, last = found.places[name]
        change = found.changes.get(name)
        table.add_row(
            Text(visible(name)),
            *(f"{card.cell(name, metric).value:.2f}" for metric in found.metrics),
            f"{100 * found.wins[name]:.1f} %",
            f"{first}" if first == last else f"{first} to {last}",
            "–" if name == found.best else "never" if change is None else f"{change:.2f}",
        )
    out.print(table)
    screen.note(
        f"Over {len(found.weights):,} choices of weights, Kendall's tau with the order as given is "
        f"{middle:.2f} on average and {low:.2f} at the least. passes the best after: how far the "
        "weight that moves most has to move."
    )
