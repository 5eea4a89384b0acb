"""What other weights of the metrics would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from creval.core.formatting import visible
from creval.report.output import Findings, Grid

if TYPE_CHECKING:
    from creval.stats.human.weight_fit import AgreedWeights
    from creval.stats.sensitivity import Sensitivity


def weights(
    found: Sensitivity, people: Mapping[str, AgreedWeights], notes: Sequence[str] = ()
) -> Findings:
    """Who would be best, how stable the order is, and what people agree with most; `notes` say what
    of their words could not be used."""
    there = found.tau[~np.isnan(found.tau)]
    low, middle = (float(there.min()), float(there.mean())) if len(there) else (None, None)
    order = "there is no order to compare"
    if low is not None:
        order = (
            f"Kendall's tau with the order as given is {middle:.2f} on average and {low:.2f} at "
            "the least"
        )
    note = (
        f"Over {len(found.weights):,} choices of weights, {order}. In the last column, how far the "
        "weight that moves most has to move."
    )
    data = {
        "weights": dict(zip(found.metrics, found.own, strict=True)),
        "models": {
            name: {
                **dict(zip(found.metrics, found.values[at].tolist(), strict=True)),
                "wins": found.wins[name],
                "places": list(found.places[name]),
                "passes_after": found.changes.get(name),
            }
            for at, name in enumerate(found.systems)
        },
        "tau": {"mean": middle, "least": low},
        "people": {name: one._asdict() for name, one in people.items()},
        "choices": len(found.weights),
        "notes": list(notes),
    }
    said = [_people(name, one) for name, one in people.items()]
    return Findings([_best(found), *said], [_grid(found)], data, [note, *notes])


def _best(found: Sensitivity) -> str:
    """How far the best system depends on the weights."""
    share = 100 * found.wins[found.best]
    sentence = (
        f"{visible(found.best)} is best at {_ratio(found.own)} ({', '.join(found.metrics)}), and "
        f"under {share:.0f} % of all weights."
    )
    passing = [(change, name) for name, change in found.changes.items() if change is not None]
    if passing:
        change, name = min(passing)
        after = f"passes it once a weight moves by {change:.2f}: that is the nearest"
        sentence += f" {visible(name)} {after if change > 0 else 'is level with it there'}."
    return sentence


def _people(name: str, one: AgreedWeights) -> str:
    return (
        f"What people said of {visible(name)} goes best with weights of {_ratio(one.best)} (r = "
        f"{one.most:.3f} within models); with the weights as given r = {one.own:.3f}, at the least "
        f"{one.least:.3f}."
    )


def _ratio(weights: tuple[float, ...] | list[float]) -> str:
    return " : ".join(f"{10 * weight:.3g}" for weight in weights)


def _grid(found: Sensitivity) -> Grid:
    rows = []
    for at, name in enumerate(found.systems):
        first, last = found.places[name]
        change = found.changes.get(name)
        rows.append(
            [
                name,
                *(f"{value:.2f}" for value in found.values[at]),
                f"{100 * found.wins[name]:.1f} %",
                f"{first}" if first == last else f"{first} to {last}",
                "–" if name == found.best else "never" if change is None else f"{change:.2f}",
            ]
        )
    heads = ["model", *found.metrics, "best under", "places", "passes the best after"]
    return Grid(heads, rows)
