"""The scores of a run: every cell with its interval and its coverage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import known_name, unknown
from creval.core.schema import Card, Level
from creval.stats import ranking
from creval.stats.aggregate import aggregate, mean_of_present, strata
from creval.stats.bootstrap import interval, replicate
from creval.stats.permutation import holm, p_values
from creval.stats.score_table import Floats, Integers, ScoreTable

if TYPE_CHECKING:
    import polars


FEWEST = 5
"""Samples below which there is no interval; those of one picture are one."""
SAMPLE = "sample"
"""The level below all groups: each sample by its id."""


AVERAGE = "average over models"
"""In the place of a system: the unweighted mean over those that have a value."""


class Cell(NamedTuple):
    """A value with its 95 % interval, and how many of its questions it rests on.

    No value where nothing was scored; no interval where it would rest on fewer than five samples,
    from which a bootstrap cannot tell how far they scatter.
    """

    value: float | None
    low: float | None
    high: float | None
    scored: int
    total: int


LEVEL = 0.05
"""How often a difference may be called decided where there is none."""


class Difference(NamedTuple):
    """`first` minus `second` on the samples that both have, with its paired 95 % interval.

    For the composite, `samples` is of its metrics the fewest. `p` is the sign-flip p-value, where
    it was asked for: of several pairs compared at once it is corrected after Holm.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    samples: int
    p: float | None = None

    @property
    def decided(self) -> bool:
        """Whether there is a difference: by the test, or else by the interval."""
        if self.low is None or self.high is None:
            return False
        return self.p <= LEVEL if self.p is not None else self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Scorecard:
    """All cells of a run, and which systems differ in the column that ranks them.

    With `average` there are cells of `AVERAGE` too.
    """

    table: ScoreTable
    levels: Mapping[str, Mapping[str, Any]]
    differences: tuple[Difference, ...]
    average: bool = False

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems, best first."""
        return tuple(sorted(self.table.systems, key=self._order))

    def _order(self, system: str) -> tuple[float, str]:
        card = self.table.card
        value = self.cell(system, card.ranking).value
        better = -1.0 if card.higher_is_better(card.ranking) else 1.0
        return (math.inf if value is None else better * value), system

    @cached_property
    def better(self) -> tuple[tuple[str, str], ...]:
        """The pairs of which it is decided who is better; that one comes first."""
        sign = 1.0 if self.table.card.higher_is_better(self.table.card.ranking) else -1.0
        return tuple(
            (found.first, found.second) if sign * found.value > 0 else (found.second, found.first)
            for found in self.differences
            if found.decided and found.value is not None
        )

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst place that each system can hold."""
        return ranking.places(self.systems, self.better)

    @cached_property
    def alike(self) -> list[tuple[str, ...]]:
        """Neighbours of whom no two can be told apart."""
        return ranking.groups(self.systems, self.better)

    def cell(self, system: str, column: str, group: str = "overall", level: str = "") -> Cell:
        """The cell of a system, a metric or the composite, and a group.

        `level` is needed only for `sample`: its groups are the samples' ids.
        """
        card = self.table.card
        names = (*self.table.systems, *((AVERAGE,) if self.average else ()))
        place = names.index(known_name("model", system, names))
        at = card.columns.index(known_name("metric", column, card.columns))
        if level == SAMPLE:
            return self._sample_cell(place, at, group)
        for found in card.levels:
            if group in found.groups and level in ("", found.name, found.plural):
                arrays = self.levels[found.name]
                index = (found.groups.index(group), place, at)
                value, low, high = (
                    number(arrays[name][index]) for name in ("value", "low", "high")
                )
                scored, total = (int(arrays[name][index]) for name in ("scored", "total"))
                return Cell(value, low, high, scored, total)
        raise unknown("group", group, [name for found in card.levels for name in found.groups])

    def _sample_cell(self, system: int, column: int, name: str) -> Cell:
        if name not in self._sample_places:
            raise unknown("sample", name, self.table.samples)
        sample = self._sample_places[name]
        scored, total = self.table.scored[system, sample], self.table.total[system, sample]
        here = slice(column, column + 1) if column < len(self.table.card.metrics) else slice(None)
        value = number(self._sample_values[system, sample, column])
        return Cell(value, None, None, int(scored[here].sum()), int(total[here].sum()))

    @cached_property
    def _sample_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.table.samples)}

    @cached_property
    def _sample_values(self) -> Floats:
        return self.table.with_composite()

    def groups(self, level: str) -> tuple[str, ...]:
        """The groups of a level that have samples; for `sample`, the samples' ids."""
        if level == SAMPLE:
            return self.table.samples
        found = self.table.card.level(level)
        there = self.levels[found.name]["total"].sum(axis=(1, 2)) > 0
        return tuple(g for g, has in zip(found.groups, there, strict=True) if has)

    def _averaged(self, level: str) -> bool:
        return self.average and level != SAMPLE

    def rows(self, levels: Sequence[str]) -> Iterator[tuple[str, str, str, str, Cell]]:
        """Level, group, system, column and cell of everything at these levels."""
        for level in levels:
            for group in self.groups(level):
                for system in (*self.systems, *([AVERAGE] if self._averaged(level) else ())):
                    for column in self.table.card.columns:
                        yield level, group, system, column, self.cell(system, column, group, level)

    def frame(self, by: str | Sequence[str] | None = None) -> polars.DataFrame:
        """The cells as a polars frame, a row a cell: at one level, some, or all of the card's."""
        import polars

        names = [level.name for level in self.table.card.levels]
        wanted = names if by is None else [by] if isinstance(by, str) else list(by)
        rows = [
            (level, group, system, column, *cell)
            for level, group, system, column, cell in self.rows(wanted)
        ]
        words = dict.fromkeys(("level", "group", "model", "metric"), polars.String)
        numbers = dict.fromkeys(("value", "low", "high"), polars.Float64)
        counts = dict.fromkeys(("scored", "total"), polars.Int64)
        return polars.DataFrame(rows, schema={**words, **numbers, **counts}, orient="row")


def number(value: float) -> float | None:
    """A value for people: none instead of NaN."""
    return None if math.isnan(value) else float(value)


def scorecard(
    table: ScoreTable, *, resamples: int = 2_000, seed: int = 0, average: bool = False
) -> Scorecard:
    """Score a table: values, percentile intervals over paired resamples, coverage, differences."""
    pairs = list(combinations(table.systems, 2))
    shared = table.ranked().pairs(pairs)
    drawn, drawn_pairs = replicate([table, shared], resamples, seed)
    there = points(table)
    levels = {
        level.name: _arrays(table, level, there[level.name], drawn[level.name], average)
        for level in table.card.levels
    }
    tested = holm(p_values(shared, seed)) if pairs else []
    differences = tuple(_differences(pairs, shared, drawn_pairs["overall"], tested))
    return Scorecard(table, levels, differences, average)


def rests_on(card: Card, column: str) -> list[int]:
    """The places of the metrics that a column rests on."""
    names = card.rests_on(column)
    return [n for n, metric in enumerate(card.metrics) if metric.name in names]


def points(table: ScoreTable) -> dict[str, Floats]:
    """Each level's values; axes group, system, column."""
    once = aggregate(table, strata(table), np.ones((1, len(table.samples))))
    return {level.name: once[level.name][0] for level in table.card.levels}


def _differences(
    pairs: Sequence[tuple[str, str]],
    shared: ScoreTable,
    drawn: Floats,
    tested: Sequence[float | None],
) -> Iterator[Difference]:
    card = shared.card
    rank = card.columns.index(card.ranking)
    there = points(shared)["overall"][0, :, rank]
    draws = drawn[:, 0, :, rank]
    low, high = interval(draws[:, ::2] - draws[:, 1::2])
    here = evidence(shared)
    behind = rests_on(card, card.ranking)
    samples = here.sum(axis=1)[:, behind].min(axis=1)
    units = shared.units_in(here)[:, behind].min(axis=1)
    for n, (first, second) in enumerate(pairs):
        ends = (number(low[n]), number(high[n])) if units[n] >= FEWEST else (None, None)
        value = number(there[2 * n] - there[2 * n + 1])
        yield Difference(first, second, value, *ends, int(samples[n]), tested[n])


def evidence(shared: ScoreTable) -> NDArray[np.bool_]:
    """What differences of pairs rest on: samples of which at least one system supports what is
    measured; axes pair, sample, metric."""
    earned = shared.earned
    found: NDArray[np.bool_] = earned[::2] | earned[1::2]
    return found


def _arrays(
    table: ScoreTable, level: Level, point: Floats, draws: Floats, average: bool
) -> dict[str, Any]:
    there = _by_group(table, level, "there")
    scored, total = (_by_group(table, level, what) for what in ("scored", "total"))
    if average:
        point, draws = (_with(mean_of_present(a, -2), a) for a in (point, draws))
        # As many units as the system has that has the fewest, of those that have any.
        fewest = np.where(there > 0, there, there.max(initial=0)).min(axis=-2)
        there = _with(fewest, there)
        scored, total = (_with(a.sum(axis=-2), a) for a in (scored, total))
    low, high = interval(draws)
    if table.card.composite is not None:
        # The composite rests on as many units as that of its metrics which has the fewest.
        least = there[..., rests_on(table.card, table.card.composite.name)].min(axis=-1)
        there[..., -1] = least
    few = (there < FEWEST) | np.isnan(point)
    return {
        "value": point,
        "low": np.where(few, np.nan, low),
        "high": np.where(few, np.nan, high),
        "scored": scored,
        "total": total,
    }


def _with(last: NDArray[Any], systems: NDArray[Any]) -> NDArray[Any]:
    """Values whose last axes are system and column, with one more behind the systems."""
    return np.concatenate([systems, last[..., None, :]], axis=-2)


def _by_group(table: ScoreTable, level: Level, what: str) -> Integers:
    """Counts summed over each group's samples, and over metrics for the composite.

    `what` is scored or total, of probes, or there: of how many units samples have a value that is
    not only what an unsupported one counts.
    """
    if level.minus is not None:
        of, *two = level.minus
        finer = table.card.level(of)
        both = _by_group(table, finer, what)[[finer.groups.index(group) for group in two]]
        one: Integers = both.min(axis=0) if what == "there" else both.sum(axis=0)
        if what == "scored":  # with one end alone there is nothing to subtract
            one = np.where(_by_group(table, level, "total")[0] > 0, one, 0)
        elif what == "total":
            one = np.where(both.min(axis=0) > 0, one, 0)
        return one[None]
    sums: Integers
    if level.parts:
        part = table.parts[level.name]
        if what == "there":
            sums = table.units_in((part.counts > 0).transpose(2, 0, 1, 3))
        else:
            sums = getattr(part, what).sum(axis=1, dtype=np.int64).transpose(1, 0, 2)
    else:
        members = [table.members(level.name, n) for n in range(len(level.groups))]
        if what == "there":
            earned = table.earned
            sums = np.stack([table.units_in(earned & member[:, None]) for member in members])
        else:
            counts = getattr(table, what)
            sums = np.stack([counts[:, member].sum(axis=1, dtype=np.int64) for member in members])
    if table.card.composite is None:
        return sums
    return np.concatenate([sums, sums.sum(axis=-1, keepdims=True)], axis=-1)
