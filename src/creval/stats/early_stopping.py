"""Stopping early: models compared sample by sample, until a question about them is settled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError
from creval.core.schema import Card, Digits
from creval.stats.aggregate import shares
from creval.stats.elimination import BEST, RANKING, Race, Rule
from creval.stats.score_table import Floats, Integers

SETTLED, WITHIN, SPENT, OPEN = "settled", "within the margin", "out of samples", "not finished"
"""Why it ended: surely, within the margin, because no sample is left, or not at all."""


@dataclass(frozen=True)
class Standing:
    """What is known of one model: on how many samples, from how many answers, its score on them.

    The difference is to the best, or to who is ahead, as far as both were asked; its ends hold
    however often one looked, and are none where it was too early to tell.
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
class Outcome:
    """How a question was settled, or not: all that is to be said about it.

    `undecided` are the models whose answers would still be needed, who is ahead first; `order` are
    all models as they stand; `pairs` are those whose order is open, if the question was the
    ranking, and `equal` those that lie within the margin.
    """

    rule: Rule
    column: str
    reason: str
    best: str | None
    undecided: tuple[str, ...]
    order: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    equal: tuple[tuple[str, str], ...]
    used: int
    total: int
    samples: int
    of: int
    standings: tuple[Standing, ...]
    digits: Digits

    def facts(self) -> dict[str, object]:
        """The same as plain values, for JSON."""
        models = {
            at.model: {k: v for k, v in vars(at).items() if k != "model"} for at in self.standings
        }
        told = {
            "question": self.rule.question,
            "column": self.column,
            "alpha": self.rule.alpha,
            "margin": self.rule.margin,
            "reason": self.reason,
            "best": self.best,
            "undecided": list(self.undecided),
            "used": self.used,
            "total": self.total,
            "samples": self.samples,
            "of": self.of,
            "models": models,
        }
        if self.rule.question == RANKING:
            told |= {
                "ranking": list(self.order),
                "open": [list(pair) for pair in self.pairs],
                "equal": [list(pair) for pair in self.equal],
            }
        return told


class Stopping:
    """Decides after each sample whose answers are still needed.

    `tags` are those of all samples in the order in which they will come: random, and spread over
    the groups of the finest level, which are the strata.
    """

    def __init__(
        self, rule: Rule, card: Card, systems: Sequence[str], tags: Sequence[Mapping[str, str]]
    ) -> None:
        check_several(systems)
        self.rule, self.card, self.systems = rule, card, tuple(systems)
        column = card.metric(card.ranking)
        self._better = 1.0 if column.higher_is_better else -1.0
        self._stratum, groups = _strata(card, tags)
        sizes = np.bincount(self._stratum, minlength=1).astype(np.float64)
        self._share = partial(shares, card, groups)
        self._race = Race(
            rule, sizes, len(systems), shares=self._share, wide=column.high - column.low
        )
        self._values: Floats = np.full((len(systems), len(tags)), np.nan)
        self._samples = np.zeros(len(systems), dtype=np.int64)
        self._used = np.zeros(len(systems), dtype=np.int64)
        self.seen = 0

    @property
    def settled(self) -> bool:
        return bool(self._race.settled[0])

    @property
    def needed(self) -> tuple[str, ...]:
        """The systems whose answers are still needed."""
        if self.settled:
            return ()
        return tuple(
            name for name, on in zip(self.systems, self._race.active[0], strict=True) if on
        )

    def add(self, values: Floats, answers: Integers) -> None:
        """The next sample: each system's value, NaN where there is none, and how many answers that
        took. What is not needed any more is not looked at."""
        on = self._race.active[0] & ~self._race.settled[0]
        self._values[on, self.seen] = values[on]
        self._samples += on & ~np.isnan(values)
        self._used += np.where(on, answers, 0)
        stratum = self._stratum[self.seen : self.seen + 1]
        self._race.add(stratum, np.where(on, self._better * values, np.nan)[None])
        self.seen += 1

    def outcome(self, total: int) -> Outcome:
        """How it stands now; `total` is how many answers all samples of all systems would take."""
        race, active = self._race, self._race.active[0]
        value, off = self._better * race.bounds.value[0], race.bounds.off[0]
        wins = (self._better * value > 0).sum(axis=1)
        ahead = sorted(range(len(active)), key=lambda at: (-wins[at], self.systems[at]))
        best: int | None = None
        if self.rule.question == BEST:
            ahead.sort(key=lambda at: not active[at])
            best = ahead[0] if self.settled else None
        elif self._sure()[ahead[0]].all():
            best = ahead[0]
        open_ = [at for at in ahead if active[at] and not self.settled]
        states = dict.fromkeys(open_, "still open")
        for at in ahead:
            if at not in states:
                states[at] = self._dropped(at)
        if best is not None:
            states[best] = "best"
        first = ahead[0]
        standings = [
            Standing(
                self.systems[at],
                states[at],
                int(self._samples[at]),
                int(self._used[at]),
                self._score(at),
                None if at == first else _number(value[at, first]),
                None if at == first else _number(value[at, first] - off[at, first]),
                None if at == first else _number(value[at, first] + off[at, first]),
            )
            for at in ahead
        ]
        names = [self.systems[at] for at in ahead]
        pairs = race.open_pairs() if self.rule.question == RANKING else []
        equal = [
            (names[i], names[j])
            for i, one in enumerate(ahead)
            for j, two in enumerate(ahead[:i])
            if self.settled and self.rule.question == RANKING and not self._sure()[one, two]
        ]
        return Outcome(
            self.rule,
            self.card.ranking,
            self._reason(best),
            None if best is None else self.systems[best],
            tuple(self.systems[at] for at in open_),
            tuple(names),
            tuple((self.systems[i], self.systems[j]) for i, j in pairs),
            tuple((two, one) for one, two in equal),
            int(self._used.sum()),
            total,
            self.seen,
            self._values.shape[1],
            tuple(standings),
            self.card.metric(self.card.ranking).digits,
        )

    def _dropped(self, at: int) -> str:
        if self.rule.question == RANKING:
            return "placed"
        return "worse" if self._race.beaten[0, at] else "not better by the margin"

    def _reason(self, best: int | None) -> str:
        if not self.settled:
            return SPENT if self.seen == self._values.shape[1] else OPEN
        if self.rule.question == BEST:
            others = np.arange(len(self.systems)) != best
            return SETTLED if self._race.beaten[0, others].all() else WITHIN
        return SETTLED if self._sure().all() else WITHIN

    def _sure(self) -> NDArray[np.bool_]:
        """Which of two systems differ for sure, whichever is the better one."""
        bounds = self._race.bounds
        sure: NDArray[np.bool_] = (bounds.low[0] > 0) | (bounds.high[0] < 0)
        return sure | np.eye(len(self.systems), dtype=np.bool_)

    def _score(self, at: int) -> float | None:
        """The score on the samples so far, each stratum in its share."""
        here = ~np.isnan(self._values[at])
        strata = len(np.bincount(self._stratum, minlength=1))
        seen = np.bincount(self._stratum[here], minlength=strata)
        sums = np.bincount(self._stratum[here], self._values[at, here], minlength=strata)
        share = self._share(np.where(seen > 0, np.bincount(self._stratum, minlength=1), 0.0))
        return float((share * sums / np.maximum(seen, 1)).sum()) if here.any() else None


def check_several(systems: Sequence[str]) -> None:
    """Refuse to decide where there is nothing to compare."""
    if len(systems) < 2:
        raise CrevalError("--until-decided compares models: give two or more.")


def _strata(card: Card, tags: Sequence[Mapping[str, str]]) -> tuple[Integers, dict[str, Integers]]:
    """Each sample's stratum, and each stratum's group in every level that goes by tags."""
    levels = [level for level in card.levels if level.tagged]
    keys = [tuple(_place(tag.get(level.name), level.groups) for level in levels) for tag in tags]
    number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    groups = {
        level.name: np.array([key[n] for key in number], dtype=np.int64)
        for n, level in enumerate(levels)
    }
    return np.array([number[key] for key in keys], dtype=np.int64), groups


def _place(group: str | None, groups: Sequence[str]) -> int:
    return groups.index(group) if group in groups else -1


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
