"""Output of `creval sensitivity`: rankings under other weights of the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from creval.core.formatting import escape_control
from creval.reporting.numbers import format_places
from creval.reporting.output import CommandOutput, OutputTable

if TYPE_CHECKING:
    from creval.stats.human.weight_fit import WeightAgreement
    from creval.stats.weight_sensitivity import Sensitivity


def sensitivity_output(
    sensitivity: Sensitivity, people: Mapping[str, WeightAgreement], notes: Sequence[str] = ()
) -> CommandOutput:
    """Return the best model under other weights, the stability of the ranking, and agreement with people."""
    there = sensitivity.kendall_tau[~np.isnan(sensitivity.kendall_tau)]
    low, middle = (float(there.min()), float(there.mean())) if len(there) else (None, None)
    order = "there is no ranking to compare"
    if low is not None:
        order = f"Kendall's tau with the ranking at the given weights is {middle:.2f} on average, at least {low:.2f}"
    note = (
        f"Over {len(sensitivity.weight_grid):,} combinations of weights, {order}. Clear lead: the 95 % interval of the "
        "lead over each other model excludes 0. Last column: the smallest change of weights after which the model "
        "passes the best, as the change of the weight that changes most."
    )
    data = {
        "weights": dict(zip(sensitivity.metrics, sensitivity.own_weights, strict=True)),
        "models": {
            name: {
                **dict(zip(sensitivity.metrics, sensitivity.values[at].tolist(), strict=True)),
                "wins": sensitivity.win_shares[name],
                "wins_decided": sensitivity.decided_shares[name],
                "places": list(sensitivity.rank_ranges[name]),
                "passes_after": sensitivity.weight_changes.get(name),
            }
            for at, name in enumerate(sensitivity.models)
        },
        "tau": {"mean": middle, "least": low},
        "people": {name: one._asdict() for name, one in people.items()},
        "choices": len(sensitivity.weight_grid),
        "notes": list(notes),
    }
    said = [_people_sentence(name, one) for name, one in people.items()]
    return CommandOutput([_best_sentence(sensitivity), *said], [_sensitivity_table(sensitivity)], data, [note, *notes])


def _best_sentence(sensitivity: Sensitivity) -> str:
    """State how much the best model depends on the weights."""
    share = 100 * sensitivity.win_shares[sensitivity.best]
    weights = f"{_format_ratio(sensitivity.own_weights)} ({', '.join(sensitivity.metrics)})"
    decided = 100 * sensitivity.decided_shares[sensitivity.best]
    name = escape_control(sensitivity.best)
    shares = f"under {share:.0f} % of all weights, with a clear lead under {decided:.0f} %"
    sentence = f"{name} is best at {weights}, and {shares}."
    if not sensitivity.best_is_decided and len(sensitivity.models) > 1:
        sentence = f"{name} comes first at {weights}, but its lead is not significant. It comes first {shares}."
    passing = [(change, name) for name, change in sensitivity.weight_changes.items() if change is not None]
    if passing:
        change, name = min(passing)
        after = f"is the closest competitor: it passes once a weight changes by {change:.2f}"
        sentence += f" {escape_control(name)} {after if change > 0 else 'has the same score'}."
    return sentence


def _people_sentence(name: str, one: WeightAgreement) -> str:
    return (
        f"Weights of {_format_ratio(one.best)} agree best with people's ratings of {escape_control(name)} (r = "
        f"{one.most:.3f} within models). The given weights reach r = {one.own:.3f}, the worst weights "
        f"{one.least:.3f}."
    )


def _format_ratio(weights: tuple[float, ...] | list[float]) -> str:
    return " : ".join(f"{10 * weight:.3g}" for weight in weights)


def _sensitivity_table(sensitivity: Sensitivity) -> OutputTable:
    rows = []
    for at, name in enumerate(sensitivity.models):
        change = sensitivity.weight_changes.get(name)
        rows.append(
            [
                name,
                *(f"{value:.2f}" for value in sensitivity.values[at]),
                f"{100 * sensitivity.win_shares[name]:.1f} %",
                f"{100 * sensitivity.decided_shares[name]:.1f} %",
                format_places(*sensitivity.rank_ranges[name]),
                "–" if name == sensitivity.best else "never" if change is None else f"{change:.2f}",
            ]
        )
    heads = ["model", *sensitivity.metrics, "best in", "clear lead in", "ranks", "passes the best after"]
    return OutputTable(heads, rows)
