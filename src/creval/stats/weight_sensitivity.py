"""Sensitivity of the ranking to the weights of the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from creval.core.errors import CrevalError
from creval.stats.bootstrap import bootstrap_tables, percentile_interval
from creval.stats.correlation import rowwise_kendall
from creval.stats.score_table import Floats
from creval.stats.scorecard import Scorecard

GRID_STEPS = 100
"""Steps of each weight on the grid."""
_RESAMPLES = 500
_MAX_CHOICES = 1_000  # choices of weights that are tested for a decided winner


@dataclass(frozen=True)
class Sensitivity:
    """Ranking of all models under all weights of the metrics.

    - `models` are ordered best first under `own_weights`, the weights in use; `values` are their metrics.
    - `weight_grid` has a row for each choice of weights, spread evenly over all possible choices.
    - `win_shares`: share of choices under which each model is best (shared equally on ties).
    - `decided_shares`: share of choices under which each model is best and the lead is significant.
    - `best_is_decided`: whether the lead is significant under the weights in use.
    - `rank_ranges`: best and worst rank of each model over all choices.
    - `kendall_tau`: Kendall's correlation of each choice's ranking with that of the weights in use.
    - `weight_changes`: for each other model, the least change of a weight with which it passes the best model; None if
      it never does.
    - `draws`: the models' metrics in resamples; axes draw, model, metric.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    own_weights: tuple[float, ...]
    values: Floats
    weight_grid: Floats
    win_shares: Mapping[str, float]
    rank_ranges: Mapping[str, tuple[int, int]]
    kendall_tau: Floats
    weight_changes: Mapping[str, float | None]
    decided_shares: Mapping[str, float]
    best_is_decided: bool
    draws: Floats

    @property
    def best(self) -> str:
        return self.models[0]

    def lead_low(self, weights: Floats) -> Floats:
        """Return the low end (95 %) of the best model's smallest lead, for each choice of weights.

        The best model is significantly better than all others if this is above 0.
        """
        return lowest_leads(self.values, self.draws, weights)


def lowest_leads(values: Floats, draws: Floats, weights: Floats) -> Floats:
    """Return, for each choice of weights, the lowest end of the 95 % intervals of the best model's leads."""
    found = []
    for chosen in np.array_split(weights, max(1, len(weights) // 50)):
        best = (chosen @ values.T).argmax(axis=1)
        scores = np.einsum("dmk,wk->dwm", draws, chosen)
        leads = np.take_along_axis(scores, best[None, :, None], axis=2) - scores
        low = percentile_interval(leads)[0]
        np.put_along_axis(low, best[:, None], np.inf, axis=1)
        found.append(np.nan_to_num(low, nan=-np.inf, posinf=np.inf).min(axis=1))
    return np.concatenate(found)


def analyse_sensitivity(scorecard: Scorecard, steps: int = GRID_STEPS) -> Sensitivity:
    """Analyse how a run's ranking depends on the weights of its metrics."""
    made, formula = scorecard.table.schema.composite, scorecard.table.schema.formula
    if made is None:
        why = f" ({formula})" if formula else ""
        raise CrevalError(f"these scores have no composite of weighted metrics{why}, so there are no weights to vary.")
    metrics = tuple(made.weights)
    models = scorecard.models
    values = [[scorecard.cell(name, metric).value for metric in metrics] for name in models]
    if any(value is None for row in values for value in row):
        raise CrevalError("a model has no value in one of the metrics, so it has no score under other weights.")
    cells = np.array(values, dtype=np.float64)
    weights = simplex_grid(len(metrics), steps)
    total = sum(made.weights.values())
    own = np.array([weight / total for weight in made.weights.values()])
    scores = weights @ cells.T
    base = cells @ own
    top = scores >= scores.max(axis=1, keepdims=True) - 1e-9
    wins = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)
    better = (scores[:, None, :] > scores[:, :, None] + 1e-9).sum(axis=2) + 1
    (drawn,) = bootstrap_tables([scorecard.table], _RESAMPLES, seed=0)
    columns = scorecard.table.schema.component_indices(made.name)
    order = [scorecard.table.models.index(name) for name in models]
    draws = drawn["overall"][:, 0][:, order][:, :, columns]
    if any(scorecard.cell(name, metric).low is None for name in models for metric in metrics):
        draws = np.full_like(draws, np.nan)  # too few samples: no lead is significant
    coarse = weights[:: max(1, len(weights) // _MAX_CHOICES)]
    decided = lowest_leads(cells, draws, coarse) > 0
    winners = (coarse @ cells.T).argmax(axis=1)
    changes = {name: weight_change_to_pass(cells[at] - cells[0], own) for at, name in enumerate(models)}
    del changes[models[0]]
    return Sensitivity(
        models,
        metrics,
        tuple(own.tolist()),
        cells,
        weights,
        dict(zip(models, wins.tolist(), strict=True)),
        {name: (int(better[:, n].min()), int(better[:, n].max())) for n, name in enumerate(models)},
        rowwise_kendall(scores, base[None]),
        changes,
        {name: float((decided & (winners == at)).mean()) for at, name in enumerate(models)},
        len(models) > 1 and scorecard.rank_ranges[models[0]] == (1, 1),
        draws,
    )


def weight_change_to_pass(lead_by_metric: Floats, own_weights: Floats) -> float | None:
    """Return how far weights must change so that a model passes another; None if it never does.

    Of all changes of the weights that suffice, this is the one whose largest change of a single weight is smallest.

    `lead_by_metric` is the lead of the passing model over the other one in each metric. `own_weights` are the weights
    in use.

    >>> weight_change_to_pass(np.array([1.0, -1.0]), np.array([0.25, 0.75]))
    0.25
    """

    def most(moved: float) -> float:
        """Return the largest lead if no weight changes by more than `moved`."""
        low = np.maximum(own_weights - moved, 0.0)
        room = np.minimum(own_weights + moved, 1.0) - low
        free, lead = 1.0 - low.sum(), float(low @ lead_by_metric)
        for at in np.argsort(-lead_by_metric, kind="stable"):
            given = min(free, room[at])
            lead, free = lead + given * float(lead_by_metric[at]), free - given
        return lead

    if most(1.0) <= 1e-9:
        return None
    short, enough = 0.0, 1.0
    for _ in range(50):
        middle = (short + enough) / 2
        short, enough = (short, middle) if most(middle) >= 0 else (middle, enough)
    return round(enough, 12)


def simplex_grid(count: int, steps: int) -> Floats:
    """Return a grid of weights that add up to one.

    Even steps divide the simplex of weights into small simplices; the grid has their centres. With more than three
    weights, only small simplices with the same orientation as the large one are used.

    >>> simplex_grid(2, 2).tolist()
    [[0.25, 0.75], [0.75, 0.25]]
    """
    middles = [
        (_integer_compositions(count, steps - turn) + turn / count) / steps for turn in range(1, 3 if count == 3 else 2)
    ]
    return np.concatenate(middles)


def _integer_compositions(count: int, total: int) -> Floats:
    """Return all compositions of `total` into `count` non-negative integers."""
    rows: list[list[int]] = [[]]
    for place in range(count):
        last = place == count - 1
        rows = [[*row, part] for row in rows for part in ([total - sum(row)] if last else range(total - sum(row) + 1))]
    return np.array(rows, dtype=np.float64)
