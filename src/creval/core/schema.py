"""How a protocol's numbers are called and how they add up, as data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from creval.core.errors import CrevalError, require_known, unknown_name_error

Weights = Mapping[str, float | Mapping[str, float]] | str
"""What metrics weigh: each, each in a group (or some so and some so), or by the name of a choice
that a protocol has."""


class Score(NamedTuple):
    """One metric of one sample: its value, or none, and how many of its probes it rests on."""

    value: float | None
    scored: int
    total: int


class SubScore(NamedTuple):
    """One metric of a part of a sample, such as a step, that belongs to a group of its own."""

    group: str
    metric: str
    score: Score


class Digits(NamedTuple):
    """The decimals of a value, and of the ends of its interval."""

    value: int = 2
    ends: int = 1


@dataclass(frozen=True)
class Metric:
    """A number of each sample; if `measured_only`, neither unsupported samples nor missing edits count in it."""

    name: str
    label: str
    low: float = 0.0
    high: float = 100.0
    higher_is_better: bool = True
    measured_only: bool = False

    @property
    def title(self) -> str:
        """The name, with the label if that says more: `IF: instruction following`."""
        return self.name if self.label == self.name else f"{self.name}: {self.label}"

    @property
    def worst_value(self) -> float | None:
        """What no edit at all is worth: zero, where a scale begins there. No distance or cosine says so."""
        return 0.0 if self.higher_is_better and self.low == 0 and not self.measured_only else None

    @property
    def digits(self) -> Digits:
        """So many that a thousandth of the range can be seen."""
        wide = self.high - self.low
        return Digits() if wide >= 100 else Digits(2, 2) if wide >= 10 else Digits(4, 4)


@dataclass(frozen=True)
class Composite:
    """A weighted sum of metrics, the same at every level. The weights add up to one."""

    name: str
    label: str
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Level:
    """A level of the tables: samples are grouped by the tag of this name.

    A group's value is the mean of its samples or, where `mean_of` names a finer level, the unweighted mean of that
    level's groups inside it. `groups` gives their order. The level `overall` is one group that holds everything.
    Where `groups_sub_scores` is set, a group's value is the mean of the parts of samples that belong to it; where
    `difference_of` names a level and two of its groups, the first less the second.
    """

    name: str
    plural: str
    groups: tuple[str, ...]
    mean_of: str | None = None
    groups_sub_scores: bool = False
    difference_of: tuple[str, str, str] | None = None

    @property
    def groups_samples(self) -> bool:
        """Whether its groups are of samples, by their tags."""
        return self.name != "overall" and not self.groups_sub_scores and self.difference_of is None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


OVERALL = Level("overall", "overall", ("overall",))


@dataclass(frozen=True)
class ScoreSchema:
    """A protocol's metrics, its composite if it has one, and its levels as shown.

    `rank_by` is the column by which models are ranked: the composite, unless it says otherwise.
    `ranking_description` says how that column is made, where it is no composite. `unsupported_value` is what a sample
    counts that a model says it cannot do; none leaves it out.
    """

    metrics: tuple[Metric, ...]
    composite: Composite | None
    levels: tuple[Level, ...]
    rank_by: str = ""
    unsupported_value: float | None = None
    ranking_description: str = ""

    @property
    def formula(self) -> str:
        """How the column that ranks is made, as far as that is more than a mean."""
        if self.composite is None:
            return self.ranking_description
        weights = self.composite.weights.items()
        return f"{self.composite.name} = " + " + ".join(f"{w:.3g} {name}" for name, w in weights)

    @property
    def columns(self) -> tuple[str, ...]:
        """The metrics' names, and the composite's behind them."""
        names = tuple(metric.name for metric in self.metrics)
        return names if self.composite is None else (*names, self.composite.name)

    @property
    def ranking_column(self) -> str:
        """The column by which models are ranked."""
        return self.rank_by or self.columns[-1]

    def find_metric(self, column: str) -> Metric:
        """Return the metric of a column; the composite's is like those that it is made of."""
        names = self.component_weights(column)
        found = next(metric for metric in self.metrics if metric.name in names)
        if self.composite is not None and column == self.composite.name:
            return replace(found, name=column, label=self.composite.label)
        return found

    def higher_is_better(self, column: str) -> bool:
        return self.find_metric(column).higher_is_better

    def component_weights(self, column: str) -> Mapping[str, float]:
        """Return the metrics that a column is made of, with their weights."""
        if self.composite is not None and column == self.composite.name:
            return {name: weight for name, weight in self.composite.weights.items() if weight > 0}
        return {require_known("metric", column, self.columns): 1.0}

    def component_indices(self, column: str) -> list[int]:
        """Return the places, among the metrics, of those that a column is made of."""
        names = self.component_weights(column)
        return [at for at, metric in enumerate(self.metrics) if metric.name in names]

    def with_levels(self, levels: tuple[Level, ...]) -> ScoreSchema:
        """Return the same over a dataset's levels; those of samples' parts are the protocol's own."""
        parts = tuple(level for level in self.levels if level.groups_sub_scores)
        own = {level.name for level in parts}
        kept = (level for level in levels if level.name not in own)
        return replace(self, levels=(*kept, *parts)) if levels else self

    def with_probed_metrics(self, metrics: Collection[str]) -> ScoreSchema:
        """Return the same without the composite if nothing is asked or measured for one of its metrics.

        Models are then ranked by the first of `metrics`.
        """
        if self.composite is None:
            return self
        absent = [name for name, weight in self.composite.weights.items() if weight > 0 and name not in metrics]
        there = [metric.name for metric in self.metrics if metric.name in metrics]
        if not absent or not there:
            return self
        reason = f"no {self.composite.name}, because nothing is asked for {' and '.join(absent)}; ranked by {there[0]}"
        return replace(self, composite=None, rank_by=there[0], ranking_description=reason)

    def find_level(self, name: str) -> Level:
        """Return the level called `name`, in the singular or the plural."""
        for level in self.levels:
            if name in (level.name, level.plural):
                return level
        raise unknown_name_error("level", name, [level.name for level in self.levels])

    def group_title(self, level: str, group: str) -> str:
        """Return a group's name, with its tag where groups of the tag are numbers or are called as those of another."""
        own = [one for one in self.levels if one.name == level and one.groups_samples and one.mean_of is None]
        others = {name for one in self.levels if one.name != level and one.mean_of is None for name in one.groups}
        unclear = any(name in others or _is_number(name) for one in own for name in one.groups)
        return f"{level.replace('_', ' ')}: {group}" if unclear else group

    def with_weights(self, weights: Mapping[str, float]) -> ScoreSchema:
        """Return the same schema with other weights in its composite, scaled to a sum of one."""
        if self.composite is None:
            raise CrevalError("these scores have no weights to change.")
        for name, weight in weights.items():
            require_known("metric", name, [metric.name for metric in self.metrics])
            if not 0 <= weight < float("inf"):
                raise CrevalError(f"the weight of {name} is {weight}; it must be zero or more.")
        total = sum(weights.values())
        if not 0 < total < float("inf"):
            raise CrevalError("the weights must add up to a number above zero.")
        shares = {m.name: weights.get(m.name, 0.0) / total for m in self.metrics}
        return replace(self, composite=replace(self.composite, weights=shares))
