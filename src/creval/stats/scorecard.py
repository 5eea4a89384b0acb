"""Scores of a run: every cell with its interval and its coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError, require_known, unknown_name_error
from creval.core.schema import Level
from creval.stats import ranking
from creval.stats.aggregate import aggregate, build_strata, nan_mean
from creval.stats.bootstrap import bootstrap_tables, percentile_interval
from creval.stats.intervals import Estimate, none_if_nan
from creval.stats.permutation import holm_correction, p_values
from creval.stats.score_table import Floats, Integers, ScoreTable

if TYPE_CHECKING:
    import polars


_PAIRS_AT_ONCE = 50  # pairs whose resamples are in memory at a time
MIN_CLUSTERS = 5
"""Fewest clusters (samples of one image) for an interval."""
SAMPLE_LEVEL = "sample"
"""Level below all groups: its groups are the samples' ids."""


AVERAGE_MODEL = "average over models"
"""Pseudo-model: the unweighted mean over the models that have a value."""


@dataclass(frozen=True)
class ModelSet:
    """A row for several models: the mean over `members` with a value, less the mean over `minus`, if given.

    The interval is over samples. The models are not resampled.
    """

    name: str
    members: tuple[str, ...]
    minus: tuple[str, ...] = ()
    group: str = ""
    """The group of models whose mean it is."""


def group_sets(groups: Mapping[str, Sequence[str]]) -> tuple[ModelSet, ...]:
    """Return the mean of each named group of models, and the difference between each pair of groups.

    >>> [one.name for one in group_sets({"open": ["A"], "closed": ["B"]})]
    ['mean of open', 'mean of closed', 'open minus closed']
    """
    means = (ModelSet(f"mean of {name}", tuple(members), group=name) for name, members in groups.items())
    gaps = (
        ModelSet(f"{one} minus {two}", tuple(groups[one]), tuple(groups[two])) for one, two in combinations(groups, 2)
    )
    return (*means, *gaps)


@dataclass(frozen=True)
class ScoreEstimate(Estimate):
    """Score with its interval, the number of questions with a score (`scored`), and that of all questions (`total`).

    No value if nothing was scored. No interval with fewer than five samples, which are too few for a bootstrap.
    """

    scored: int = 0
    total: int = 0


SIGNIFICANCE_LEVEL = 0.05
"""Risk of calling a difference decided if there is none."""


@dataclass(frozen=True, kw_only=True)
class Difference(Estimate):
    """`first` minus `second` on the samples that both have, with its paired 95 % interval.

    For the composite, `samples` is the smallest number over its metrics. `p` is the sign-flip p-value, with Holm's
    correction if several pairs were compared.
    """

    first: str
    second: str
    samples: int
    p: float | None = None

    @property
    def is_decided(self) -> bool:
        """True if the difference is significant: by the test, or without one by the interval."""
        if self.low is None or self.high is None:
            return False
        return self.p <= SIGNIFICANCE_LEVEL if self.p is not None else self.low > 0 or self.high < 0

    def reverse(self) -> Difference:
        """Return `second` minus `first`."""
        value, low, high = (None if number is None else -number for number in (self.value, self.high, self.low))
        return replace(self, value=value, low=low, high=high, first=self.second, second=self.first)

    def to_dict(self) -> dict[str, Any]:
        return {"first": self.first, "second": self.second, **super().to_dict()}


@dataclass(frozen=True)
class Scorecard:
    """All cells of a run and the differences between models.

    Each set in `model_sets` has cells as if it were a model.
    """

    table: ScoreTable
    levels: Mapping[str, Mapping[str, Any]]
    differences: tuple[Difference, ...]
    model_sets: tuple[ModelSet, ...] = ()

    @property
    def includes_average(self) -> bool:
        return any(one.name == AVERAGE_MODEL for one in self.model_sets)

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models, best first."""
        return tuple(sorted(self.table.models, key=self._sort_key))

    def _sort_key(self, model: str) -> tuple[float, str]:
        card = self.table.schema
        value = self.cell(model, card.ranking_column).value
        better = -1.0 if card.higher_is_better(card.ranking_column) else 1.0
        return (math.inf if value is None else better * value), model

    @cached_property
    def decided_pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs with a significant difference, better model first."""
        sign = 1.0 if self.table.schema.higher_is_better(self.table.schema.ranking_column) else -1.0
        return tuple(
            (found.first, found.second) if sign * found.value > 0 else (found.second, found.first)
            for found in self.differences
            if found.is_decided and found.value is not None
        )

    @cached_property
    def rank_ranges(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst possible rank of each model."""
        return ranking.rank_ranges(self.models, self.decided_pairs)

    @cached_property
    def indistinguishable(self) -> list[tuple[str, ...]]:
        """The largest sets of neighbours in the ranking in which no two models differ significantly."""
        return ranking.indistinguishable(self.models, self.decided_pairs)

    def cell(self, model: str, column: str, group: str = "overall", level: str = "") -> ScoreEstimate:
        """Return the cell of a model, column and group; `level` is needed only for `sample`, whose groups are ids."""
        card = self.table.schema
        names = (*self.table.models, *(one.name for one in self.model_sets))
        place = names.index(require_known("model", model, names))
        at = card.columns.index(require_known("metric", column, card.columns))
        if level == SAMPLE_LEVEL:
            return self._sample_cell(place, at, group)
        for found in card.levels:
            if group in found.groups and level in ("", found.name, found.plural):
                arrays = self.levels[found.name]
                index = (found.groups.index(group), place, at)
                value, low, high = (none_if_nan(arrays[name][index]) for name in ("value", "low", "high"))
                return ScoreEstimate(value, low, high, *(int(arrays[name][index]) for name in ("scored", "total")))
        raise unknown_name_error("group", group, [name for found in card.levels for name in found.groups])

    def _sample_cell(self, model: int, column: int, name: str) -> ScoreEstimate:
        if name not in self._sample_index:
            raise unknown_name_error("sample", name, self.table.samples)
        sample = self._sample_index[name]
        scored, total = self.table.scored[model, sample], self.table.total[model, sample]
        here = slice(column, column + 1) if column < len(self.table.schema.metrics) else slice(None)
        value = none_if_nan(self._sample_values[model, sample, column])
        return ScoreEstimate(value, None, None, int(scored[here].sum()), int(total[here].sum()))

    @cached_property
    def _sample_index(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.table.samples)}

    @cached_property
    def _sample_values(self) -> Floats:
        return self.table.with_composite()

    def groups(self, level: str) -> tuple[str, ...]:
        """Return the groups of a level that have samples; for `sample`, the samples' ids."""
        if level == SAMPLE_LEVEL:
            return self.table.samples
        found = self.table.schema.find_level(level)
        there = self.levels[found.name]["total"].sum(axis=(1, 2)) > 0
        return tuple(g for g, has in zip(found.groups, there, strict=True) if has)

    @property
    def model_groups(self) -> dict[str, tuple[str, ...]]:
        """The named groups of models."""
        return {one.group: one.members for one in self.model_sets if one.group}

    def set_names(self, level: str = "") -> tuple[str, ...]:
        """Return the names of the sets of models. The level `sample` has none."""
        return () if level == SAMPLE_LEVEL else tuple(one.name for one in self.model_sets)

    def iter_cells(self, levels: Sequence[str]) -> Iterator[tuple[str, str, str, str, ScoreEstimate]]:
        """Yield level, group, model, column and cell of all cells at these levels."""
        for level in levels:
            for group in self.groups(level):
                for model in (*self.models, *self.set_names(level)):
                    for column in self.table.schema.columns:
                        yield level, group, model, column, self.cell(model, column, group, level)

    def frame(self, by: str | Sequence[str] | None = None) -> polars.DataFrame:
        """Return the cells as a polars frame, one row per cell: at one level, several, or by default all."""
        import polars

        names = [level.name for level in self.table.schema.levels]
        wanted = names if by is None else [by] if isinstance(by, str) else list(by)
        rows = [(*place, *vars(cell).values()) for *place, cell in self.iter_cells(wanted)]
        words = dict.fromkeys(("level", "group", "model", "metric"), polars.String)
        numbers = dict.fromkeys(("value", "low", "high"), polars.Float64)
        counts = dict.fromkeys(("scored", "total"), polars.Int64)
        return polars.DataFrame(rows, schema={**words, **numbers, **counts}, orient="row")


def build_scorecard(
    table: ScoreTable,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    average: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Scorecard:
    """Score a table: values, percentile intervals over paired resamples, coverage, differences.

    `average` adds the mean over all models. `groups` adds the mean of each named group of models and the differences
    between groups.
    """
    sets = (*group_sets(groups or {}), *((ModelSet(AVERAGE_MODEL, table.models),) if average else ()))
    _check_sets(sets, table.models)
    pairs = list(combinations(table.models, 2))
    # All pairs at once would need memory proportional to the square of the number of models.
    blocks = [pairs[at : at + _PAIRS_AT_ONCE] for at in range(0, len(pairs), _PAIRS_AT_ONCE)] or [[]]
    ranked = table.restrict_to_ranking()
    drawn, drawn_pairs = bootstrap_tables([table, ranked.select_pairs(blocks[0])], resamples, seed)
    there = point_estimates(table)
    levels = {
        level.name: _level_arrays(table, level, there[level.name], drawn[level.name], sets)
        for level in table.schema.levels
    }
    tested = iter(holm_correction(p_values(map(ranked.select_pairs, blocks), seed)))
    differences: list[Difference] = []
    for block in blocks:
        shared = ranked.select_pairs(block)
        if differences:
            (drawn_pairs,) = bootstrap_tables([shared], resamples, seed)
        differences += _differences(block, shared, drawn_pairs["overall"], tested)
    return Scorecard(table, levels, tuple(differences), sets)


def _check_sets(sets: Sequence[ModelSet], models: Sequence[str]) -> None:
    for one in sets:
        for name in (*one.members, *one.minus):
            require_known("model", name, models)
        if one.name in models or not one.members:
            raise CrevalError(f"{one.name!r} needs models, and a name that no model has.")


def point_estimates(table: ScoreTable) -> dict[str, Floats]:
    """Return each level's values; axes group, model, column."""
    once = aggregate(table, build_strata(table), np.ones((1, len(table.samples))))
    return {level.name: once[level.name][0] for level in table.schema.levels}


def _differences(
    pairs: Sequence[tuple[str, str]], shared: ScoreTable, drawn: Floats, tested: Iterator[float | None]
) -> Iterator[Difference]:
    card = shared.schema
    rank = card.columns.index(card.ranking_column)
    there = point_estimates(shared)["overall"][0, :, rank]
    draws = drawn[:, 0, :, rank]
    low, high = percentile_interval(draws[:, ::2] - draws[:, 1::2])
    here = pair_evidence(shared)
    behind = card.component_indices(card.ranking_column)
    samples = here.sum(axis=1)[:, behind].min(axis=1)
    units = shared.count_clusters(here)[:, behind].min(axis=1)
    for n, (first, second) in enumerate(pairs):
        ends = (none_if_nan(low[n]), none_if_nan(high[n])) if units[n] >= MIN_CLUSTERS else (None, None)
        value = none_if_nan(there[2 * n] - there[2 * n + 1])
        yield Difference(value, *ends, first=first, second=second, samples=int(samples[n]), p=next(tested))


def pair_evidence(pairs: ScoreTable) -> NDArray[np.bool_]:
    """Return a mask of the samples that at least one of two models supports; axes pair, sample, metric."""
    earned = pairs.supported
    found: NDArray[np.bool_] = earned[::2] | earned[1::2]
    return found


def _level_arrays(
    table: ScoreTable, level: Level, point: Floats, draws: Floats, sets: Sequence[ModelSet]
) -> dict[str, Any]:
    there = _count_by_group(table, level, "there")
    scored, total = (_count_by_group(table, level, what) for what in ("scored", "total"))
    for one in sets:
        members, minus = ([table.models.index(name) for name in names] for names in (one.members, one.minus))
        point, draws = (_append_set(_set_mean(a, members, minus), a) for a in (point, draws))
        there = _append_set(_fewest_clusters(there, [*members, *minus]), there)
        scored, total = (_append_set(a[..., [*members, *minus], :].sum(axis=-2), a) for a in (scored, total))
    low, high = percentile_interval(draws)
    if table.schema.composite is not None:
        # For the composite, the smallest number over its metrics.
        least = there[..., table.schema.component_indices(table.schema.composite.name)].min(axis=-1)
        there[..., -1] = least
    few = (there < MIN_CLUSTERS) | np.isnan(point)
    return {
        "value": point,
        "low": np.where(few, np.nan, low),
        "high": np.where(few, np.nan, high),
        "scored": scored,
        "total": total,
    }


def _set_mean(values: Floats, members: Sequence[int], minus: Sequence[int]) -> Floats:
    """Return the mean over the members with a value, minus the mean over `minus`. Models are the second-last axis."""
    found = nan_mean(values[..., members, :], -2)
    return found - nan_mean(values[..., minus, :], -2) if minus else found


def _fewest_clusters(there: Integers, models: Sequence[int]) -> Integers:
    """Return the smallest number of clusters over the models that have any."""
    of = there[..., models, :]
    fewest: Integers = np.where(of > 0, of, of.max(initial=0)).min(axis=-2)
    return fewest


def _append_set(values: NDArray[Any], models: NDArray[Any]) -> NDArray[Any]:
    """Append the values of a set to the axis of models, which is the second-last."""
    return np.concatenate([models, values[..., None, :]], axis=-2)


def _count_by_group(table: ScoreTable, level: Level, what: str) -> Integers:
    """Count by group: probes (`scored`, `total`) or clusters with values (`there`).

    A composite has its metrics' sum.
    """
    if level.difference_of is not None:
        of, *two = level.difference_of
        finer = table.schema.find_level(of)
        both = _count_by_group(table, finer, what)[[finer.groups.index(group) for group in two]]
        one: Integers = both.min(axis=0) if what == "there" else both.sum(axis=0)
        if what == "scored":  # a difference needs both groups
            one = np.where(_count_by_group(table, level, "total")[0] > 0, one, 0)
        elif what == "total":
            one = np.where(both.min(axis=0) > 0, one, 0)
        return one[None]
    sums: Integers
    if level.groups_sub_scores:
        part = table.sub_scores[level.name]
        if what == "there":
            sums = table.count_clusters((part.counts > 0).transpose(2, 0, 1, 3), part.samples)
        else:
            sums = getattr(part, what).sum(axis=1, dtype=np.int64).transpose(1, 0, 2)
    else:
        members = [table.group_mask(level.name, n) for n in range(len(level.groups))]
        if what == "there":
            earned = table.supported
            sums = np.stack([table.count_clusters(earned & member[:, None]) for member in members])
        else:
            counts = getattr(table, what)
            sums = np.stack([counts[:, member].sum(axis=1, dtype=np.int64) for member in members])
    if table.schema.composite is None:
        return sums
    return np.concatenate([sums, sums.sum(axis=-1, keepdims=True)], axis=-1)
