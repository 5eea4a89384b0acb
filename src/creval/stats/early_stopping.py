"""Early stopping: compare models sample by sample until a question about them is settled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.schema import Digits, ScoreSchema
from creval.stats.aggregate import stratum_weights
from creval.stats.elimination import BEST, RANKING, Elimination, StoppingRule
from creval.stats.score_table import Floats, Integers

SETTLED, WITHIN_MARGIN, OUT_OF_SAMPLES, NOT_FINISHED = "settled", "within the margin", "out of samples", "not finished"
"""Reasons for the end of a test: significant, within the margin, no samples left, or unfinished."""


@dataclass(frozen=True)
class ModelStanding:
    """State of one model: the numbers of its samples and of the answers used, and its score on these samples.

    `difference` is this model minus the leading model, on the samples that both have. Its bounds `low` and `high` stay
    valid if they are checked after every sample. They are None if there are too few samples yet.
    """

    model: str
    state: str
    samples: int
    used: int
    value: float | None
    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class StoppingOutcome:
    """Outcome of a sequential test.

    `undecided` are the models whose answers would still be needed, best first. `ranking` are all models, best first.
    For the question `ranking`, `open_pairs` are the pairs whose order is not decided, and `equal_pairs` the pairs that
    differ by less than the margin.
    """

    rule: StoppingRule
    column: str
    reason: str
    best: str | None
    undecided: tuple[str, ...]
    ranking: tuple[str, ...]
    open_pairs: tuple[tuple[str, str], ...]
    equal_pairs: tuple[tuple[str, str], ...]
    answers_used: int
    answers_total: int
    samples_used: int
    samples_total: int
    standings: tuple[ModelStanding, ...]
    digits: Digits

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        models = {at.model: {k: v for k, v in vars(at).items() if k != "model"} for at in self.standings}
        content = {
            "question": self.rule.question,
            "column": self.column,
            "alpha": self.rule.alpha,
            "margin": self.rule.margin,
            "reason": self.reason,
            "best": self.best,
            "undecided": list(self.undecided),
            "used": self.answers_used,
            "total": self.answers_total,
            "samples": self.samples_used,
            "of": self.samples_total,
            "models": models,
        }
        if self.rule.question == RANKING:
            content |= {
                "ranking": list(self.ranking),
                "open": [list(pair) for pair in self.open_pairs],
                "equal": [list(pair) for pair in self.equal_pairs],
            }
        return content


class SequentialTest:
    """Test that decides after each sample which models' answers are still needed.

    `tags` are the tags of all samples, in the order in which the samples are added. This order must be random within
    each stratum. The strata are the groups of the finest level.
    """

    def __init__(
        self, rule: StoppingRule, schema: ScoreSchema, models: Sequence[str], tags: Sequence[Mapping[str, str]]
    ) -> None:
        require_several_models(models)
        self.rule, self.schema, self.models = rule, schema, tuple(models)
        column = schema.find_metric(schema.ranking_column)
        self._direction = 1.0 if column.higher_is_better else -1.0
        self._stratum_of_sample, groups = _assign_strata(schema, tags)
        sizes = np.bincount(self._stratum_of_sample, minlength=1).astype(np.float64)
        self._stratum_weights = partial(stratum_weights, schema, groups)
        self._elimination = Elimination(
            rule, sizes, len(models), stratum_weights=self._stratum_weights, value_range=column.high - column.low
        )
        self._values: Floats = np.full((len(models), len(tags)), np.nan)
        self._sample_counts = np.zeros(len(models), dtype=np.int64)
        self._answers_used = np.zeros(len(models), dtype=np.int64)
        self.samples_added = 0

    @property
    def is_settled(self) -> bool:
        return bool(self._elimination.settled[0])

    @property
    def active_models(self) -> tuple[str, ...]:
        """The models whose answers are still needed."""
        if self.is_settled:
            return ()
        return tuple(name for name, on in zip(self.models, self._elimination.active[0], strict=True) if on)

    def add(self, values: Floats, answers: Integers) -> None:
        """Add a sample: each model's value or NaN, and its number of answers.

        Models whose answers are no longer needed are ignored.
        """
        on = self._elimination.active[0] & ~self._elimination.settled[0]
        self._values[on, self.samples_added] = values[on]
        self._sample_counts += on & ~np.isnan(values)
        self._answers_used += np.where(on, answers, 0)
        stratum = self._stratum_of_sample[self.samples_added : self.samples_added + 1]
        self._elimination.add(stratum, np.where(on, self._direction * values, np.nan)[None])
        self.samples_added += 1

    def outcome(self, answers_total: int) -> StoppingOutcome:
        """Return the current outcome. `answers_total` is the number of answers for all samples of all models."""
        race, active = self._elimination, self._elimination.active[0]
        value, off = self._direction * race.bounds.value[0], race.bounds.radius[0]
        wins = (self._direction * value > 0).sum(axis=1)
        ahead = sorted(range(len(active)), key=lambda at: (-wins[at], self.models[at]))
        best: int | None = None
        if self.rule.question == BEST:
            ahead.sort(key=lambda at: not active[at])
            best = ahead[0] if self.is_settled else None
        elif self._decided_pairs()[ahead[0]].all():
            best = ahead[0]
        open_ = [at for at in ahead if active[at] and not self.is_settled]
        states = {at: "still open" if at in open_ else self._eliminated_state(at) for at in ahead}
        if best is not None:
            states[best] = "best"
        first, reach = ahead[0], off[:, ahead[0]]
        standings = [
            ModelStanding(
                self.models[at],
                states[at],
                int(self._sample_counts[at]),
                int(self._answers_used[at]),
                self._score(at),
                *((None,) * 3 if at == first else map(_finite_or_none, value[at, first] + [0, -reach[at], reach[at]])),
            )
            for at in ahead
        ]
        pairs = race.open_pairs() if self.rule.question == RANKING else []
        equal = [
            (self.models[two], self.models[one])
            for i, one in enumerate(ahead)
            for two in ahead[:i]
            if self.is_settled and self.rule.question == RANKING and not self._decided_pairs()[one, two]
        ]
        return StoppingOutcome(
            self.rule,
            self.schema.ranking_column,
            self._reason(best),
            None if best is None else self.models[best],
            tuple(self.models[at] for at in open_),
            tuple(self.models[at] for at in ahead),
            tuple((self.models[i], self.models[j]) for i, j in pairs),
            tuple(equal),
            int(self._answers_used.sum()),
            answers_total,
            self.samples_added,
            self._values.shape[1],
            tuple(standings),
            self.schema.find_metric(self.schema.ranking_column).digits,
        )

    def _eliminated_state(self, at: int) -> str:
        if self.rule.question == RANKING:
            return "placed"
        return "worse" if self._elimination.beaten[0, at] else "not better by the margin"

    def _reason(self, best: int | None) -> str:
        if not self.is_settled:
            return OUT_OF_SAMPLES if self.samples_added == self._values.shape[1] else NOT_FINISHED
        if self.rule.question == BEST:
            others = np.arange(len(self.models)) != best
            return SETTLED if self._elimination.beaten[0, others].all() else WITHIN_MARGIN
        return SETTLED if self._decided_pairs().all() else WITHIN_MARGIN

    def _decided_pairs(self) -> NDArray[np.bool_]:
        """Return a mask of the pairs that differ significantly, in either direction."""
        bounds = self._elimination.bounds
        sure: NDArray[np.bool_] = (bounds.low[0] > 0) | (bounds.high[0] < 0)
        return sure | np.eye(len(self.models), dtype=np.bool_)

    def _score(self, at: int) -> float | None:
        """Return a model's score on its samples so far, with strata weighted as in the whole benchmark."""
        here = ~np.isnan(self._values[at])
        sizes = np.bincount(self._stratum_of_sample, minlength=1)
        seen = np.bincount(self._stratum_of_sample[here], minlength=len(sizes))
        sums = np.bincount(self._stratum_of_sample[here], self._values[at, here], minlength=len(sizes))
        share = self._stratum_weights(np.where(seen > 0, sizes, 0.0))
        return float((share * sums / np.maximum(seen, 1)).sum()) if here.any() else None


def require_several_models(models: Sequence[str]) -> None:
    """Raise an error if there are fewer than two models."""
    if len(models) < 2:
        raise CrevalError("`stopping_rule` compares models: give two or more.")


def _assign_strata(schema: ScoreSchema, tags: Sequence[Mapping[str, str]]) -> tuple[Integers, dict[str, Integers]]:
    """Return each sample's stratum, and each stratum's group in every level that groups samples by tags."""
    levels = [level for level in schema.levels if level.groups_samples]
    places: dict[str, dict[str | None, int]] = {
        level.name: {group: at for at, group in enumerate(level.groups)} for level in levels
    }
    keys = [tuple(at.get(tag.get(name), -1) for name, at in places.items()) for tag in tags]
    number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    groups = {level.name: np.array([key[n] for key in number], dtype=np.int64) for n, level in enumerate(levels)}
    return np.array([number[key] for key in keys], dtype=np.int64), groups


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
