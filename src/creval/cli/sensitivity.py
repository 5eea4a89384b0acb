"""`creval sensitivity`: what other weights would say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from creval.cli import options, screen

if TYPE_CHECKING:
    from creval.stats.scorecard import Scorecard
    from creval.stats.sensitivity import Sensitivity


class _Agreed(NamedTuple):
    """How well sums of the metrics go with what people said: at best, with the weights as given,
    and at the least."""

    best: list[float]
    most: float
    own: float
    least: float


def sensitivity(
    run: options.RunFolder,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw all weights: .svg, .png or .pdf.")
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also say which weights people agree with most (CSV)."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="1-5", help="The scale of ratings whose rows state none."),
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
    agreed = _agreed(human, scale, card, found) if human else {}
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
                "people": {name: one._asdict() for name, one in agreed.items()},
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
    for name, one in agreed.items():
        words = " : ".join(f"{10 * weight:.3g}" for weight in one.best)
        out.print(
            f"What people said of {visible(name)} goes best with weights of {words} (r = "
            f"{one.most:.3f}); with the weights as given r = {one.own:.3f}, at the least "
            f"{one.least:.3f}."
        )
    screen.note(
        f"Over {len(found.weights):,} choices of weights, Kendall's tau with the order as given is "
        f"{middle:.2f} on average and {low:.2f} at the least. passes the best after: how far the "
        "weight that moves most has to move."
    )


def _agreed(
    human: str, scale: str | None, card: Scorecard, found: Sensitivity
) -> dict[str, _Agreed]:
    """For each thing that people said, how well it goes with each choice of weights."""
    import numpy as np

    from creval.core.errors import CrevalError
    from creval.core.ratings import read_people, scale_named
    from creval.stats.people import scores_of_table, words
    from creval.stats.weights import agreement_by_weights

    said = read_people(human, None if scale is None else scale_named(scale))
    scores = scores_of_table(card.table)
    every = np.vstack([found.weights, [found.own]])
    agreed = {}
    for word in words(said.ratings, scores)[0]:
        along = agreement_by_weights(word, found.metrics, scores, every)
        if along is None or np.isnan(along).all():
            continue
        best = int(np.nanargmax(along[:-1]))
        agreed[word.metric] = _Agreed(
            found.weights[best].tolist(),
            float(along[best]),
            float(along[-1]),
            float(np.nanmin(along)),
        )
    if not agreed:
        raise CrevalError(f"--human {human}: too few ratings of this run's edits to tell anything.")
    return agreed
