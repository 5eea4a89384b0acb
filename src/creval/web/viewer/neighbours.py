"""Where a sample stands in the list that it was chosen from, and where its keys lead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.web.common.pages import link
from creval.web.viewer.filters import Choice, chosen_items, chosen_samples, groups
from creval.web.viewer.score_pages import outcome_words
from creval.web.viewer.snapshot import Snapshot, State


class Neighbours(NamedTuple):
    """Where the keys lead from a sample, and where it stands in which list."""

    place: int
    total: int
    words: str
    back: str
    previous: str
    next: str
    failure: str


def neighbours(
    at: Snapshot, choice: Choice, sample: str, kept: Mapping[str, str] = MappingProxyType({})
) -> Neighbours:
    """The samples before and behind one in the list that it was chosen from, and the next behind it
    that a model failed in. What is `kept` goes along."""
    names, _ = chosen_samples(choice, at)
    if sample not in names:  # somebody came another way
        choice, names = Choice(model=choice.model), list(at.samples)
    here = names.index(sample)

    def to(place: int) -> str:
        there = 0 <= place < len(names)
        return link("/sample", id=names[place], **choice.given, **kept) if there else ""

    wrong = at.states == State.WRONG
    if choice.model:
        wrong = wrong[:, [at.systems.index(choice.model)]]
    failed = wrong.any(axis=1) & counted(choice, at)
    failure = ""
    for place in range(here + 1, len(names)):
        span = at.spans[names[place]]
        first = np.flatnonzero(failed[span.start : span.stop])
        if len(first):
            failure = f"{to(place)}#q{first[0] + 1}"
            break
    return Neighbours(
        here + 1,
        len(names),
        described(at, choice),
        link("/samples", **choice.given),
        to(here - 1),
        to(here + 1),
        failure,
    )


def described(at: Snapshot, choice: Choice) -> str:
    """A choice in words."""
    words = outcome_words(at)
    parts = [
        groups(at)[choice.group][1] if choice.group else "",
        choice.model,
        choice.metric,
        words[choice.outcome] if choice.outcome else "",
        f"weight {choice.weight}" if choice.weight else "",
        "models disagree" if choice.split else "",
    ]
    return ", ".join(part for part in parts if part) or "all samples"


def counted(choice: Choice, at: Snapshot) -> NDArray[np.bool_]:
    """Which questions a choice is about, however they ended and for whom."""
    mask = np.zeros(len(at.items), dtype=np.bool_)
    mask[chosen_items(choice.but(outcome="", model=""), at)] = True
    return mask
