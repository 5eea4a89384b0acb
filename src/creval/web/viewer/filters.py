"""What a list page shows: the filters, as they stand in an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError, unknown
from creval.core.formatting import visible
from creval.core.schema import Level
from creval.web.viewer.snapshot import Snapshot, State

OUTCOMES = {
    "right": State.RIGHT,
    "wrong": State.WRONG,
    "unanswered": State.UNANSWERED,
    "unasked": State.UNASKED,
}
ORDERS = ("worst", "best", "apart")
_LONGEST = 1_000  # characters of a name


@dataclass(frozen=True)
class Choice:
    """Which questions, or which samples, in which order. Empty is everything, in the run's order.

    `model` is whose answers count: one model's, or any's. `group` is written `LEVEL:GROUP`. `split`
    leaves only questions that some models have right and some wrong. `metric` is also the column by
    which samples are ordered.
    """

    model: str = ""
    group: str = ""
    metric: str = ""
    outcome: str = ""
    weight: str = ""
    split: str = ""
    order: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The parameters of an address that leads here again."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value}

    @property
    def narrow(self) -> bool:
        """Whether it chooses among a sample's questions, not only among samples."""
        return bool(self.metric or self.outcome or self.weight or self.split)

    def but(self, **changes: str) -> Choice:
        return replace(self, **changes)


def read_choice(given: Mapping[str, str], at: Snapshot) -> Choice:
    """The choice in an address. A name that the run does not know is an error with the nearest."""
    columns = (*at.card.columns,)
    return Choice(
        model=known("model", given.get("model", ""), at.systems),
        group=known("group", given.get("group", ""), tuple(groups(at))),
        metric=known("metric", given.get("metric", ""), columns),
        outcome=known("outcome", given.get("outcome", ""), tuple(OUTCOMES)),
        weight=_weight(given.get("weight", "")),
        split="yes" if given.get("split") == "yes" else "",
        order=known("order", given.get("order", ""), ORDERS),
    )


def known(what: str, name: str, names: tuple[str, ...]) -> str:
    """The name that is meant: a form has it as it is shown, with control characters made visible.

    Nothing stands for nothing.
    """
    if not name or name in names:
        return name
    if len(name) > _LONGEST:
        raise CrevalError(f"there is no {what} with so long a name.")
    shown = visible(name.replace("\r\n", "\n"))
    for candidate in names:
        if visible(candidate) == shown:
            return candidate
    raise unknown(what, name, names)


def _weight(given: str) -> str:
    if not given:
        return ""
    try:
        return f"{float(given):g}"
    except ValueError as error:
        raise CrevalError(f"a weight is a number, not {given!r}.") from error


def groups(at: Snapshot) -> dict[str, tuple[Level, str]]:
    """The groups that samples or their questions can be chosen by, as an address names them."""
    return {
        f"{level.name}:{group}": (level, group)
        for level in at.card.levels
        if level.tagged or level.parts
        for group in level.groups
    }


def chosen_items(choice: Choice, at: Snapshot) -> NDArray[np.int64]:
    """The places of the questions that a choice leaves, in the run's order."""
    mask = np.ones(len(at.items), dtype=np.bool_)
    if choice.group:
        level, group = groups(at)[choice.group]
        mask &= at.group_of[level.name] == level.groups.index(group)
    if choice.metric:
        made_of = at.card.rests_on(choice.metric)
        if choice.metric in at.metrics or at.card.composite is not None:
            mask &= np.isin(at.metric_of, list(made_of))
    if choice.weight:
        mask &= at.weights == float(choice.weight)
    states = at.states
    if choice.split:
        mask &= (states == State.RIGHT).any(axis=1) & (states == State.WRONG).any(axis=1)
    if choice.model:
        states = states[:, [at.systems.index(choice.model)]]
    if choice.outcome:
        mask &= (states == OUTCOMES[choice.outcome]).any(axis=1)
    return np.flatnonzero(mask)


def chosen_samples(choice: Choice, at: Snapshot) -> tuple[list[str], dict[str, int]]:
    """The samples that a choice leaves, in its order, and how many of the questions of each."""
    items = chosen_items(choice, at)
    counts = np.bincount(at.sample_of[items], minlength=len(at.samples)).tolist()
    names = list(at.samples)
    found = {name: count for name, count in zip(names, counts, strict=True) if count}
    if not choice.narrow:  # a sample of which nothing was asked is a sample too
        inside = [name for name in names if name in found or _tagged(choice, at, name)]
        found = {name: found.get(name, 0) for name in inside}
    return _ordered(choice, at, list(found)), found


def _tagged(choice: Choice, at: Snapshot, name: str) -> bool:
    if not choice.group:
        return True
    level, group = groups(at)[choice.group]
    return level.tagged and at.samples[name].tags.get(level.name) == group


def _ordered(choice: Choice, at: Snapshot, names: list[str]) -> list[str]:
    if not choice.order or at.table is None:
        return names
    values = sample_values(at, choice.metric or at.card.ranking)
    if choice.order == "apart":
        key = -_spread(values)
    else:
        one = values[[at.systems.index(choice.model)]] if choice.model else values
        key = _mean(one)
        if at.card.higher_is_better(choice.metric or at.card.ranking) != (choice.order == "worst"):
            key = -key
    key = np.where(np.isnan(key), np.inf, key)
    return sorted(names, key=lambda name: key[at.places[name]])


def sample_values(at: Snapshot, column: str) -> NDArray[np.float64]:
    """Each system's value on each sample in a column; NaN where there is none."""
    if at.table is None:
        return np.full((len(at.systems), len(at.samples)), np.nan)
    values: NDArray[np.float64] = at.table.with_composite()[..., at.card.columns.index(column)]
    return values


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    mean: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    most = np.where(np.isnan(values), -np.inf, values).max(axis=0, initial=-np.inf)
    least = np.where(np.isnan(values), np.inf, values).min(axis=0, initial=np.inf)
    spread: NDArray[np.float64] = np.where(most >= least, most - least, np.nan)
    return spread
