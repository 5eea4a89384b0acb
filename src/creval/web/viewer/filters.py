"""What a list page shows: the filters, as they stand in an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from creval.core.errors import CrevalError, unknown_name_error
from creval.core.formatting import escape_control
from creval.core.schema import Level
from creval.web.viewer.snapshot import AnswerState, Snapshot

OUTCOMES = {
    "right": AnswerState.RIGHT,
    "wrong": AnswerState.WRONG,
    "unanswered": AnswerState.UNANSWERED,
    "unasked": AnswerState.UNASKED,
    "no_edit": AnswerState.NO_EDIT,
}
ORDERS = ("worst", "best", "apart")
_MAX_NAME_CHARS = 1_000  # characters of a name


@dataclass(frozen=True)
class Filters:
    """Which questions, or which samples, in which order. Empty is everything, in the run's order.

    `model` is whose answers count: one model's, or any's. `group` is written `LEVEL:GROUP`. `split` leaves only
    questions that some models have right and some wrong. `metric` is also the column by which samples are ordered.
    """

    model: str = ""
    group: str = ""
    metric: str = ""
    outcome: str = ""
    weight: str = ""
    split: str = ""
    order: str = ""

    @property
    def params(self) -> dict[str, str]:
        """The parameters of an address that leads here again."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value}

    @property
    def selects_questions(self) -> bool:
        """Whether it chooses among a sample's questions, not only among samples."""
        return bool(self.metric or self.outcome or self.weight or self.split)

    def with_changes(self, **changes: str) -> Filters:
        return replace(self, **changes)


def parse_filters(params: Mapping[str, str], snapshot: Snapshot) -> Filters:
    """The choice in an address. A name that the run does not know is an error with the nearest."""
    return Filters(
        model=resolve_name("model", params.get("model", ""), snapshot.models),
        group=resolve_name("group", params.get("group", ""), tuple(filterable_groups(snapshot))),
        metric=resolve_name("metric", params.get("metric", ""), tuple(snapshot.schema.columns)),
        outcome=resolve_name("outcome", params.get("outcome", ""), tuple(OUTCOMES)),
        weight=_parse_weight(params.get("weight", "")),
        split="yes" if params.get("split") == "yes" else "",
        order=resolve_name("order", params.get("order", ""), ORDERS),
    )


def resolve_name(what: str, name: str, names: tuple[str, ...]) -> str:
    """The name that is meant: a form has it with control characters made visible. Nothing stands for nothing."""
    if not name or name in names:
        return name
    if len(name) > _MAX_NAME_CHARS:
        raise CrevalError(f"there is no {what} with so long a name.")
    shown = escape_control(name.replace("\r\n", "\n"))
    meant = next((candidate for candidate in names if escape_control(candidate) == shown), None)
    if meant is None:
        raise unknown_name_error(what, name, names)
    return meant


def require_name(what: str, name: str, names: tuple[str, ...], example: str) -> str:
    """The name that is meant; an address without one is an error that says how to give it."""
    found = resolve_name(what, name, names)
    if not found:
        raise CrevalError(f"say which {what}: {example}.")
    return found


def _parse_weight(given: str) -> str:
    if not given:
        return ""
    try:
        return f"{float(given):g}"
    except ValueError as error:
        raise CrevalError(f"a weight is a number, not {given!r}.") from error


def filterable_groups(snapshot: Snapshot) -> dict[str, tuple[Level, str]]:
    """The groups that samples or their questions can be chosen by, as an address names them."""
    return {
        f"{level.name}:{group}": (level, group)
        for level in snapshot.schema.levels
        if level.groups_samples or level.groups_sub_scores
        for group in level.groups
    }


def filter_items(filters: Filters, snapshot: Snapshot) -> NDArray[np.int64]:
    """The places of the questions that a choice leaves, in the run's order."""
    mask = np.ones(len(snapshot.items), dtype=np.bool_)
    if filters.group:
        level, group = filterable_groups(snapshot)[filters.group]
        mask &= snapshot.item_groups[level.name] == level.groups.index(group)
    if filters.metric:
        made_of = snapshot.schema.component_weights(filters.metric)
        if filters.metric in snapshot.metrics or snapshot.schema.composite is not None:
            mask &= np.isin(snapshot.item_metrics, list(made_of))
    if filters.weight:
        mask &= snapshot.weights == float(filters.weight)
    states = snapshot.states
    if filters.split:
        mask &= (states == AnswerState.RIGHT).any(axis=1) & (states == AnswerState.WRONG).any(axis=1)
    if filters.model:
        states = states[:, [snapshot.models.index(filters.model)]]
    if filters.outcome:
        mask &= (states == OUTCOMES[filters.outcome]).any(axis=1)
    return np.flatnonzero(mask)


def filter_samples(filters: Filters, snapshot: Snapshot) -> tuple[list[str], dict[str, int]]:
    """The samples that a choice leaves, in its order, and how many of the questions of each."""
    items = filter_items(filters, snapshot)
    counts = np.bincount(snapshot.item_samples[items], minlength=len(snapshot.samples)).tolist()
    names = list(snapshot.samples)
    found = {name: count for name, count in zip(names, counts, strict=True) if count}
    if not filters.selects_questions:  # a sample of which nothing was asked is a sample too
        inside = [name for name in names if name in found or _is_in_group(filters, snapshot, name)]
        found = {name: found.get(name, 0) for name in inside}
    return _sort_samples(filters, snapshot, list(found)), found


def _is_in_group(filters: Filters, snapshot: Snapshot, name: str) -> bool:
    if not filters.group:
        return True
    level, group = filterable_groups(snapshot)[filters.group]
    return level.groups_samples and snapshot.samples[name].tags.get(level.name) == group


def _sort_samples(filters: Filters, snapshot: Snapshot, names: list[str]) -> list[str]:
    if not filters.order or snapshot.table is None:
        return names
    column = filters.metric or snapshot.schema.ranking_column
    values = column_values(snapshot, column)
    if filters.order == "apart":
        key = np.fmin.reduce(values, axis=0, initial=np.nan) - np.fmax.reduce(values, axis=0, initial=np.nan)
    else:
        one = values[[snapshot.models.index(filters.model)]] if filters.model else values
        key = _mean_over_models(one)
        if snapshot.schema.higher_is_better(column) != (filters.order == "worst"):
            key = -key
    key = np.where(np.isnan(key), np.inf, key)
    return sorted(names, key=lambda name: key[snapshot.sample_positions[name]])


def column_values(snapshot: Snapshot, column: str) -> NDArray[np.float64]:
    """Each system's value on each sample in a column; NaN where there is none."""
    if snapshot.table is None:
        return np.full((len(snapshot.models), len(snapshot.samples)), np.nan)
    values: NDArray[np.float64] = snapshot.table.with_composite()[..., snapshot.schema.columns.index(column)]
    return values


def _mean_over_models(values: NDArray[np.float64]) -> NDArray[np.float64]:
    count = (~np.isnan(values)).sum(axis=0)
    mean: NDArray[np.float64] = np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)
    return mean


def describe_filters(snapshot: Snapshot, filters: Filters) -> str:
    """A choice in words."""
    parts = [
        filterable_groups(snapshot)[filters.group][1] if filters.group else "",
        filters.model,
        filters.metric,
        outcome_labels(snapshot)[filters.outcome] if filters.outcome else "",
        f"weight {filters.weight}" if filters.weight else "",
        "models disagree" if filters.split else "",
    ]
    return ", ".join(part for part in parts if part) or "all samples"


def outcome_labels(snapshot: Snapshot) -> dict[str, str]:
    """How outcomes are called: grades on a scale are not simply right or wrong."""
    right, wrong = ("upper half", "lower half") if snapshot.has_grades else ("right", "wrong")
    unanswered, unasked = "unanswered", "not asked yet"
    if snapshot.measured_only:
        unanswered, unasked = "not measured", "not measured yet"
    return {"right": right, "wrong": wrong, "unanswered": unanswered, "unasked": unasked, "no_edit": "no edit"}


def filtered_question_mask(filters: Filters, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which questions a choice is about, however they ended and for whom."""
    mask = np.zeros(len(snapshot.items), dtype=np.bool_)
    mask[filter_items(filters.with_changes(outcome="", model=""), snapshot)] = True
    return mask
