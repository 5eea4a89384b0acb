"""Schema of scores: a protocol's metrics, their composite, and the levels of its tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from creval.core.errors import CrevalError, require_known, unknown_name_error

Weights = Mapping[str, float | Mapping[str, float]] | str
"""Weights of metrics: a weight per metric, or a mapping from groups to weights, or the name of a protocol's preset."""


class Score(NamedTuple):
    """One metric's score of one sample: its value or None, and how many of its `total` probes were `scored`."""

    value: float | None
    scored: int
    total: int


class SubScore(NamedTuple):
    """One metric's score of a part of a sample, such as a step, with the group that the part belongs to."""

    group: str
    metric: str
    score: Score


class Digits(NamedTuple):
    """Numbers of decimals: of a value, and of the ends of its interval."""

    value: int = 2
    ends: int = 1


@dataclass(frozen=True)
class Metric:
    """A number per sample.

    If `measured_only`, an unsupported sample or missing edit has no value, not the worst value.
    """

    name: str
    label: str
    low: float = 0.0
    high: float = 100.0
    higher_is_better: bool = True
    measured_only: bool = False

    @property
    def title(self) -> str:
        """Name, followed by the label if that differs: `IF: instruction following`."""
        return self.name if self.label == self.name else f"{self.name}: {self.label}"

    @property
    def worst_value(self) -> float | None:
        """Value of a missing edit: 0 if that is the metric's worst value; None for distances, cosines and the like."""
        return 0.0 if self.higher_is_better and self.low == 0 and not self.measured_only else None

    @property
    def digits(self) -> Digits:
        """Numbers of decimals with which the metric's values and intervals are shown. A narrower range gets more."""
        wide = self.high - self.low
        return Digits() if wide >= 100 else Digits(2, 2) if wide >= 10 else Digits(4, 4)


@dataclass(frozen=True)
class Composite:
    """A weighted sum of metrics with the same weights at every level. The weights add up to one."""

    name: str
    label: str
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Level:
    """A level of the tables, such as `category`. Samples are grouped by their tag with the level's name.

    `groups` lists the groups in the order of the tables. A group's value is the mean of its samples, unless one of
    these fields is set:

    - `mean_of`: name of a finer level. The value is the unweighted mean of the finer level's groups inside the group.
    - `groups_sub_scores`: the value is the mean of the sub-scores (parts of samples) in the group.
    - `difference_of`: a level and two of its groups; the value is the first group's minus the second's.

    The level `overall` has one group that contains all samples.
    """

    name: str
    plural: str
    groups: tuple[str, ...]
    mean_of: str | None = None
    groups_sub_scores: bool = False
    difference_of: tuple[str, str, str] | None = None

    @property
    def groups_samples(self) -> bool:
        """True if samples are grouped by their tags."""
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
    """A protocol's metrics, composite (if any) and levels.

    - `rank_by`: column that ranks the models. The default is the composite, or the last metric.
    - `unsupported_value`: value of a sample that a model cannot take (status `unsupported`); None excludes the sample.
    - `ranking_description`: description of the ranking column if there is no composite.
    """

    metrics: tuple[Metric, ...]
    composite: Composite | None
    levels: tuple[Level, ...]
    rank_by: str = ""
    unsupported_value: float | None = None
    ranking_description: str = ""

    @property
    def formula(self) -> str:
        """Formula of the composite, or the description of the ranking column."""
        if self.composite is None:
            return self.ranking_description
        weights = self.composite.weights.items()
        return f"{self.composite.name} = " + " + ".join(f"{w:.3g} {name}" for name, w in weights)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the metrics, followed by the name of the composite."""
        names = tuple(metric.name for metric in self.metrics)
        return names if self.composite is None else (*names, self.composite.name)

    @property
    def ranking_column(self) -> str:
        """Column that ranks the models."""
        return self.rank_by or self.columns[-1]

    def find_metric(self, column: str) -> Metric:
        """Return a column's metric. The composite has the range and direction of its components."""
        names = self.component_weights(column)
        found = next(metric for metric in self.metrics if metric.name in names)
        if self.composite is not None and column == self.composite.name:
            return replace(found, name=column, label=self.composite.label)
        return found

    def higher_is_better(self, column: str) -> bool:
        return self.find_metric(column).higher_is_better

    def component_weights(self, column: str) -> Mapping[str, float]:
        """Return the weights of the metrics in a column. A metric's own column has only that metric, with weight 1."""
        if self.composite is not None and column == self.composite.name:
            return {name: weight for name, weight in self.composite.weights.items() if weight > 0}
        return {require_known("metric", column, self.columns): 1.0}

    def component_indices(self, column: str) -> list[int]:
        """Return the indices in `self.metrics` of the metrics in a column."""
        names = self.component_weights(column)
        return [at for at, metric in enumerate(self.metrics) if metric.name in names]

    def with_levels(self, levels: tuple[Level, ...]) -> ScoreSchema:
        """Return the schema with a dataset's levels. The protocol's levels that group sub-scores are kept."""
        parts = tuple(level for level in self.levels if level.groups_sub_scores)
        own = {level.name for level in parts}
        kept = (level for level in levels if level.name not in own)
        return replace(self, levels=(*kept, *parts)) if levels else self

    def with_probed_metrics(self, metrics: Collection[str]) -> ScoreSchema:
        """Return the schema for a run that has questions or measurements only for these metrics.

        If a metric of the composite is missing, the composite is removed. The models are then ranked by the first of
        the metrics that the run has.
        """
        if self.composite is None:
            return self
        absent = [name for name, weight in self.composite.weights.items() if weight > 0 and name not in metrics]
        there = [metric.name for metric in self.metrics if metric.name in metrics]
        if not absent or not there:
            return self
        missing = " and ".join(absent)
        reason = f"no {self.composite.name}, because there are no questions for {missing}; ranked by {there[0]}"
        return replace(self, composite=None, rank_by=there[0], ranking_description=reason)

    def find_level(self, name: str) -> Level:
        """Return the level with this singular or plural name."""
        for level in self.levels:
            if name in (level.name, level.plural):
                return level
        raise unknown_name_error("level", name, [level.name for level in self.levels])

    def group_title(self, level: str, group: str) -> str:
        """Return a group's title.

        The title includes the level's name if a group of the level is a number or has the name of a group of another
        level.
        """
        own = [one for one in self.levels if one.name == level and one.groups_samples and one.mean_of is None]
        others = {name for one in self.levels if one.name != level and one.mean_of is None for name in one.groups}
        unclear = any(name in others or _is_number(name) for one in own for name in one.groups)
        return f"{level.replace('_', ' ')}: {group}" if unclear else group

    def with_weights(self, weights: Mapping[str, float]) -> ScoreSchema:
        """Return the schema with other weights in its composite, scaled to a sum of one."""
        if self.composite is None:
            raise CrevalError("these scores have no composite, so there are no weights to change.")
        for name, weight in weights.items():
            require_known("metric", name, [metric.name for metric in self.metrics])
            if not 0 <= weight < float("inf"):
                raise CrevalError(f"the weight of {name} is {weight}; it must be zero or more.")
        total = sum(weights.values())
        if not 0 < total < float("inf"):
            raise CrevalError("the weights must add up to a number above zero.")
        shares = {m.name: weights.get(m.name, 0.0) / total for m in self.metrics}
        return replace(self, composite=replace(self.composite, weights=shares))
