"""How well people go with each other: as far as a metric would that is one more person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creval.stats.aggregate import mean_of_present
from creval.stats.agreement import interval_alpha
from creval.stats.correlation import around
from creval.stats.human.paired_series import (
    FEWEST_VALUES,
    Correlated,
    Pairs,
    Resamples,
    Strand,
    accuracy,
    correlated,
    joined,
    pairs_of_choices,
    pairs_of_ratings,
    strands,
    strands_of_pairs,
)
from creval.stats.human.ratings import Scores, Word
from creval.stats.intervals import NOTHING, Estimate, estimate


@dataclass(frozen=True)
class Ceiling:
    """How well one person's word goes with that of the others.

    A metric as good as a person reaches as much; only one that scatters less than a person does
    can pass it. `alpha` is Krippendorff's, for interval data.
    """

    raters: int
    sample: Correlated
    accuracy: Estimate
    alpha: Estimate


def ceiling(word: Word, scores: Scores, resamples: Resamples) -> Ceiling | None:
    """How well each person goes with the mean of the others; none where nobody shares an edit."""
    found: list[Strand] = []
    pairs: list[Pairs] = []
    for at in range(len(word.raters)):
        if word.chosen:
            mine = {c.edits: c.word for c in word.choices if c.rater == at}
            others = [c for c in word.choices if c.rater != at and c.edits in mine]
            if not others:
                continue
            between = pairs_of_choices(others, np.zeros((len(scores.models), len(scores.samples))))
            keys = np.stack([between.samples, between.first, between.second], axis=1).tolist()
            said = np.array([mine[sample, one, two] for sample, one, two in keys])
            between = between._replace(scores=said)
            each = strands_of_pairs(between, scores.models)
        else:
            rest = mean_of_present(np.delete(word.ratings, at, axis=0), 0)
            each = strands(rest, word.ratings[at], scores.models)
            between = pairs_of_ratings(rest, word.ratings[at])
        found += each
        pairs.append(between)
    if not any(len(strand.people) for strand in found):
        return None
    return Ceiling(
        raters=len(word.raters),
        sample=correlated(found, resamples),
        accuracy=accuracy(joined(pairs), scores.units),
        alpha=alpha(word, resamples),
    )


def alpha(word: Word, resamples: Resamples) -> Estimate:
    """Krippendorff's alpha for interval data."""
    said: dict[tuple[int, ...], list[float]] = {}
    if word.chosen:
        for choice in word.choices:
            said.setdefault((choice.sample, choice.first, choice.second), []).append(choice.word)
    else:
        for _, model, sample in np.argwhere(~np.isnan(word.ratings)).tolist():
            said.setdefault((sample, model), [])
        for sample, model in said:
            values = word.ratings[:, model, sample]
            said[sample, model] = values[~np.isnan(values)].tolist()
    several = {key: values for key, values in said.items() if len(values) > 1}
    if not several:
        return NOTHING
    samples = np.array([key[0] for key in several])
    most = max(map(len, several.values()))
    answers = np.array([[*given, *[np.nan] * (most - len(given))] for given in several.values()])
    value = float(interval_alpha(answers, np.ones((1, len(samples))))[0])
    enough = len(np.unique(samples)) >= FEWEST_VALUES
    ends = (np.nan, np.nan)
    if enough:
        ends = around(value, interval_alpha(answers, resamples.of(samples)), len(samples))
    return estimate(value, ends)
