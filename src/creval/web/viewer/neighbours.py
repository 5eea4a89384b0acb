"""Where a sample stands in the list that it was chosen from, and where its keys lead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.web.common.pages import link
from creval.web.viewer.filters import Filters, filter_items, filter_samples, filterable_groups
from creval.web.viewer.score_pages import outcome_labels
from creval.web.viewer.snapshot import AnswerState, Snapshot


class Neighbours(NamedTuple):
    """Where the keys lead from a sample, and where it stands in which list."""

    position: int
    total: int
    description: str
    back: str
    previous: str
    next: str
    next_failure: str


def find_neighbours(
    snapshot: Snapshot, filters: Filters, sample: str, extra_params: Mapping[str, str] = MappingProxyType({})
) -> Neighbours:
    """The samples before and behind one in the list that it was chosen from, and the next behind it
    that a model failed in. What is `extra_params` goes along."""
    names, _ = filter_samples(filters, snapshot)
    if sample not in names:  # somebody came another way
        filters, names = Filters(model=filters.model), list(snapshot.samples)
    here = names.index(sample)

    def to(place: int) -> str:
        there = 0 <= place < len(names)
        return link("/sample", id=names[place], **filters.params, **extra_params) if there else ""

    wrong = snapshot.states == AnswerState.WRONG
    if filters.model:
        wrong = wrong[:, [snapshot.models.index(filters.model)]]
    failed = wrong.any(axis=1) & filtered_question_mask(filters, snapshot)
    failure = ""
    for place in range(here + 1, len(names)):
        span = snapshot.item_ranges[names[place]]
        first = np.flatnonzero(failed[span.start : span.stop])
        if len(first):
            failure = f"{to(place)}#q{first[0] + 1}"
            break
    return Neighbours(
        here + 1,
        len(names),
        describe_filters(snapshot, filters),
        link("/samples", **filters.params),
        to(here - 1),
        to(here + 1),
        failure,
    )


def describe_filters(snapshot: Snapshot, filters: Filters) -> str:
    """A choice in words."""
    words = outcome_labels(snapshot)
    parts = [
        filterable_groups(snapshot)[filters.group][1] if filters.group else "",
        filters.model,
        filters.metric,
        words[filters.outcome] if filters.outcome else "",
        f"weight {filters.weight}" if filters.weight else "",
        "models disagree" if filters.split else "",
    ]
    return ", ".join(part for part in parts if part) or "all samples"


def filtered_question_mask(filters: Filters, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which questions a choice is about, however they ended and for whom."""
    mask = np.zeros(len(snapshot.items), dtype=np.bool_)
    mask[filter_items(filters.with_changes(outcome="", model=""), snapshot)] = True
    return mask
