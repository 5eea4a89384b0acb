"""How a protocol's numbers are called and how they add up, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from creval.core.errors import CrevalError, known_name, unknown


class Score(NamedTuple):
    """One metric of one sample: its value, or none, and how many of its probes it rests on."""

    value: float | None
    scored: int
    total: int


@dataclass(frozen=True)
class Metric:
    """A number that a protocol gives each sample."""

    name: str
    label: str
    low: float = 0.0
    high: float = 100.0
    higher_is_better: bool = True


@dataclass(frozen=True)
class Composite:
    """A weighted sum of metrics, the same at every level."""

    name: str
    label: str
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Level:
    """A level of the tables: samples are grouped by the tag of this name.

    A group's value is the mean of its samples or, where `of` names a finer level, the unweighted
    mean of that level's groups inside it. `groups` gives their order. The level `overall` is one
    group that holds everything.
    """

    name: str
    plural: str
    groups: tuple[str, ...]
    of: str | None = None


OVERALL = Level("overall", "overall", ("overall",))


@dataclass(frozen=True)
class Card:
    """A protocol's metrics, its composite (the number that ranks), and its levels as shown."""

    metrics: tuple[Metric, ...]
    composite: Composite
    levels: tuple[Level, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The metrics' names, and the composite's behind them."""
        return (*(metric.name for metric in self.metrics), self.composite.name)

    def level(self, name: str) -> Level:
        """The level called `name`, in the singular or the plural."""
        for level in self.levels:
            if name in (level.name, level.plural):
                return level
        raise unknown("level", name, [level.name for level in self.levels])

    def weighted(self, weights: Mapping[str, float]) -> Card:
        """The same card with other weights in its composite, scaled to a sum of one."""
        for name, weight in weights.items():
            known_name("metric", name, [metric.name for metric in self.metrics])
            if not 0 <= weight < float("inf"):
                raise CrevalError(f"the weight of {name} is {weight}; it must be zero or more.")
        total = sum(weights.values())
        if not 0 < total < float("inf"):
            raise CrevalError("the weights must add up to a number above zero.")
        shares = {m.name: weights.get(m.name, 0.0) / total for m in self.metrics}
        return replace(self, composite=replace(self.composite, weights=shares))
