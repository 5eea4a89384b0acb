"""Filters and order of the list pages, read from URL parameters."""

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
_MAX_NAME_CHARS = 1_000  # in a parameter


@dataclass(frozen=True)
class Filters:
    """Filters and order of questions or samples. Empty values select everything, in the run's order.

    - `model`: the model whose answer must match `outcome`; if empty, the answer of any model may match.
    - `group`: written `LEVEL:GROUP`.
    - `metric`: only questions that count in this metric; samples are ordered by their score in it.
    - `split`: only questions that some models have right and others wrong.
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
        """The URL parameters of these filters."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value}

    @property
    def selects_questions(self) -> bool:
        """True if the filters select among the questions of a sample, not only among samples."""
        return bool(self.metric or self.outcome or self.weight or self.split)

    def with_changes(self, **changes: str) -> Filters:
        return replace(self, **changes)


def parse_filters(params: Mapping[str, str], snapshot: Snapshot) -> Filters:
    """Return the filters in URL parameters. An unknown name raises CrevalError with the most similar name."""
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
    """Return the name in `names` that a parameter means. An empty parameter stays empty.

    Forms send names with escaped control characters, so these forms match as well.
    """
    if not name or name in names:
        return name
    if len(name) > _MAX_NAME_CHARS:
        raise CrevalError(f"there is no {what} with this name, which has more than {_MAX_NAME_CHARS:,} characters.")
    shown = escape_control(name.replace("\r\n", "\n"))
    meant = next((candidate for candidate in names if escape_control(candidate) == shown), None)
    if meant is None:
        raise unknown_name_error(what, name, names)
    return meant


def require_name(what: str, name: str, names: tuple[str, ...], example: str) -> str:
    """Return the name that a parameter means. A missing parameter raises CrevalError with an example."""
    found = resolve_name(what, name, names)
    if not found:
        raise CrevalError(f"no {what} is given: add {example} to the address.")
    return found


def _parse_weight(given: str) -> str:
    if not given:
        return ""
    try:
        return f"{float(given):g}"
    except ValueError as error:
        raise CrevalError(f"the weight must be a number, not {given!r}.") from error


def filterable_groups(snapshot: Snapshot) -> dict[str, tuple[Level, str]]:
    """Return the groups by which samples or questions can be filtered, by their names in URLs."""
    return {
        f"{level.name}:{group}": (level, group)
        for level in snapshot.schema.levels
        if level.groups_samples or level.groups_sub_scores
        for group in level.groups
    }


def filter_items(filters: Filters, snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the positions of the questions that pass the filters, in the run's order."""
    mask = np.ones(len(snapshot.items), dtype=np.bool_)
    if filters.group:
        level, group = filterable_groups(snapshot)[filters.group]
        mask &= snapshot.item_groups[level.name] == level.groups.index(group)
    if filters.metric:
        components = snapshot.schema.component_weights(filters.metric)
        if filters.metric in snapshot.metrics or snapshot.schema.composite is not None:
            mask &= np.isin(snapshot.item_metrics, list(components))
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
    """Return the ids of samples that pass the filters, sorted, and the number of matching questions of each."""
    items = filter_items(filters, snapshot)
    counts = np.bincount(snapshot.item_samples[items], minlength=len(snapshot.samples)).tolist()
    names = list(snapshot.samples)
    found = {name: count for name, count in zip(names, counts, strict=True) if count}
    if not filters.selects_questions:  # then samples without questions are listed, too
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
    """Return the values of a column, with axes model, sample. Missing values are NaN."""
    if snapshot.table is None:
        return np.full((len(snapshot.models), len(snapshot.samples)), np.nan)
    values: NDArray[np.float64] = snapshot.table.with_composite()[..., snapshot.schema.columns.index(column)]
    return values


def _mean_over_models(values: NDArray[np.float64]) -> NDArray[np.float64]:
    count = (~np.isnan(values)).sum(axis=0)
    mean: NDArray[np.float64] = np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)
    return mean


def describe_filters(snapshot: Snapshot, filters: Filters) -> str:
    """Describe filters in words."""
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
    """Return the labels of outcomes. Grades are not right or wrong, so they have their own labels."""
    right, wrong = ("upper half", "lower half") if snapshot.has_grades else ("right", "wrong")
    unanswered, unasked = "unanswered", "not asked yet"
    if snapshot.measured_only:
        unanswered, unasked = "not measured", "not measured yet"
    return {"right": right, "wrong": wrong, "unanswered": unanswered, "unasked": unasked, "no_edit": "no edit"}


def filtered_question_mask(filters: Filters, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Return a mask of the questions that pass all filters except `outcome` and `model`."""
    mask = np.zeros(len(snapshot.items), dtype=np.bool_)
    mask[filter_items(filters.with_changes(outcome="", model=""), snapshot)] = True
    return mask
