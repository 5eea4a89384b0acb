"""What other weights of the metrics would say: who wins where, and how stable the order is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.core.errors import CrevalError
from creval.stats.correlation import kendall_of_rows
from creval.stats.scorecard import Scorecard
from creval.stats.table import Floats

STEPS = 50
"""Into how many steps each weight is divided."""


@dataclass(frozen=True)
class Sensitivity:
    """All systems under all weights of the metrics.

    `values` are the systems' metrics, `own` the weights as given. `weights` has a row for each
    choice of weights, `scores` its systems' scores; `wins` is the share of all choices under which
    each system is best, divided where several are, `places` the best and the worst place that each
    has. `tau` is Kendall's correlation of each choice's order with that of the own weights.
    `changes` says, for each other system, how far weights must move (the largest single change)
    for it to pass the best one, or none.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    own: tuple[float, ...]
    values: Floats
    weights: Floats
    scores: Floats
    wins: Mapping[str, float]
    places: Mapping[str, tuple[int, int]]
    tau: Floats
    changes: Mapping[str, float | None]

    @property
    def best(self) -> str:
        return self.systems[0]


def sensitivity(card: Scorecard, steps: int = STEPS) -> Sensitivity:
    """How a run's order depends on the weights of its metrics."""
    made = card.table.card.composite
    if made is None:
        raise CrevalError("this protocol has no composite of weighted metrics, so no weights.")
    metrics = tuple(made.weights)
    systems = card.systems
    values = [[card.cell(name, metric).value for metric in metrics] for name in systems]
    if any(value is None for row in values for value in row):
        raise CrevalError("a model has no value in one of the metrics, so no score under weights.")
    cells = np.array(values, dtype=np.float64)
    weights = simplex(len(metrics), steps)
    total = sum(made.weights.values())
    own = np.array([weight / total for weight in made.weights.values()])
    scores = weights @ cells.T
    base = cells @ own
    top = scores >= scores.max(axis=1, keepdims=True) - 1e-9
    wins = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
    better = (scores[:, None, :] > scores[:, :, None] + 1e-9).sum(axis=2) + 1
    moved = np.abs(weights - own).max(axis=1)
    changes: dict[str, float | None] = {}
    for at, name in enumerate(systems[1:], 1):
        passed = scores[:, at] > scores[:, 0] + 1e-9
        changes[name] = float(moved[passed].min()) if passed.any() else None
    return Sensitivity(
        systems,
        metrics,
        tuple(own.tolist()),
        cells,
        weights,
        scores,
        dict(zip(systems, wins.tolist(), strict=True)),
        {
            name: (int(better[:, n].min()), int(better[:, n].max()))
            for n, name in enumerate(systems)
        },
        kendall_of_rows(scores, base[None]),
        changes,
    )


def simplex(count: int, steps: int) -> Floats:
    """All ways of sharing out a weight of one in steps.

    >>> simplex(2, 2).tolist()
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    rows: list[list[int]] = [[]]
    for place in range(count):
        last = place == count - 1
        rows = [
            [*row, part]
            for row in rows
            for part in ([steps - sum(row)] if last else range(steps - sum(row) + 1))
        ]
    return np.array(rows, dtype=np.float64) / steps
