"""Automatic scores held against what people say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from creval.core.errors import CrevalError
from creval.core.human_ratings import Rating
from creval.stats.aggregate import mean_of_present
from creval.stats.human.paired_series import (
    Correlated,
    Estimates,
    Pairs,
    Resamples,
    accuracy,
    correlated,
    over_means,
    pairs_of_choices,
    pairs_of_ratings,
    strands,
    strands_of_pairs,
)
from creval.stats.human.prediction_powered import Predicted, predict
from creval.stats.human.rater_ceiling import Ceiling, ceiling
from creval.stats.human.ratings import Scores, Unmatched, Word, with_means, without_samples, words
from creval.stats.human.weight_fit import Weights, best_weights
from creval.stats.intervals import Estimate, share
from creval.stats.score_table import Floats


@dataclass(frozen=True)
class Aligned:
    """One automatic metric beside one thing that people said.

    `system` is over models' means, `sample` over samples: within each model (for choices, within
    each two models, of the scores' difference), averaged. `accuracy` is the share of comparisons,
    of those that people decide, in which the better score is that of the better edit.
    """

    people: str
    scores: str
    system: Estimates
    sample: Correlated
    accuracy: Estimate
    models: int
    values: int


class Won(NamedTuple):
    """The share of comparisons won, ties counted half: for people, and for the scores."""

    people: Estimate
    scores: Estimate


@dataclass(frozen=True)
class Said:
    """One thing that people said, and all that is held against it.

    `main` is the metric that stands for it: by it `predicted` tells what people would say of all
    edits, and beside it stand the shares of comparisons won, by model (`wins`) and by the first of
    every two models (`over`).
    """

    metric: str
    main: str
    raters: int
    values: int
    chosen: bool
    aligned: tuple[Aligned, ...]
    ceiling: Ceiling | None
    predicted: tuple[Predicted, ...]
    wins: Mapping[str, Won]
    over: Mapping[str, Won]
    weights: Weights | None


@dataclass(frozen=True)
class Alignment:
    """All that people said, beside the scores."""

    scores: Scores
    said: tuple[Said, ...]
    unmatched: Unmatched


def align(
    ratings: Sequence[Rating], scores: Scores, *, resamples: int = 2_000, seed: int = 0
) -> Alignment:
    """Hold scores against people.

    What people said is held against the metric of the same name or, where there is none, against
    every metric. What they said of models, and of no sample, is held against models' means. Where
    people rated several metrics of a file by name, and something else
    besides, the metrics' arithmetic and geometric mean are held against that too.
    """
    if "" not in scores.samples and not any(edit.sample for r in ratings for edit in r.edits):
        scores = without_samples(scores)
    found, unmatched = words(ratings, scores)
    if not found:
        raise CrevalError(
            "people and scores have no model and sample in common. The models scored are "
            f"{', '.join(scores.models[:5])}; a sample is called {scores.samples[0]!r}."
        )
    named = [word.metric for word in found if word.metric in scores.metrics]
    if len(scores.weights) < 2 and 2 <= len(named) < len(found):
        scores = with_means(scores, named)
    drawn = Resamples(scores.units, resamples, seed)
    return Alignment(scores, tuple(_said(word, scores, drawn) for word in found), unmatched)


def _said(word: Word, scores: Scores, drawn: Resamples) -> Said:
    same = word.metric in scores.metrics
    main = word.metric if same else scores.main
    parts = [] if same or len(scores.weights) < 2 else list(scores.weights)
    held = tuple(
        aligned(word, name, scores, drawn) for name in ([main] if same else scores.metrics)
    )
    wins, over = win_rates(word, main, scores) if word.chosen else ({}, {})
    return Said(
        metric=word.metric,
        main=main,
        raters=len(word.raters),
        values=len(word.choices) or int((~np.isnan(word.ratings)).sum()),
        chosen=word.chosen,
        aligned=held,
        ceiling=ceiling(word, scores, drawn) if len(word.raters) > 1 else None,
        predicted=() if word.chosen else tuple(_predicted(word, main, scores)),
        wins=wins,
        over=over,
        weights=best_weights(word, parts, scores, drawn) if parts else None,
    )


def _predicted(word: Word, metric: str, scores: Scores) -> list[Predicted]:
    """What people would say of every edit that has a score, by model."""
    people, values = word.mean(), scores.of(metric)
    found = []
    for at, name in enumerate(scores.models):
        here = ~np.isnan(values[at])
        if len(scores.samples) > 1 and (here & ~np.isnan(people[at])).any():
            found.append(predict(name, people[at, here], values[at, here], scores.units[here]))
    return found


def aligned(word: Word, metric: str, scores: Scores, resamples: Resamples) -> Aligned:
    """A metric beside what people said of one thing."""
    values = scores.of(metric)
    if word.chosen:
        pairs = pairs_of_choices(word.choices, values)
        found = strands_of_pairs(pairs, scores.models)
        system = over_means(won_shares(pairs.people, pairs, len(values)), _compared(pairs, values))
        models, size = len(set(pairs.first) | set(pairs.second)), len(pairs.people)
    else:
        people = word.mean()
        pairs = pairs_of_ratings(people, values)
        found = strands(people, values, scores.models)
        both = ~np.isnan(people) & ~np.isnan(values)
        means = (mean_of_present(np.where(both, of, np.nan), 1) for of in (people, values))
        system = over_means(*means)
        models, size = int(both.any(axis=1).sum()), int(both.sum())
    sample = correlated(found, resamples)
    decided = accuracy(pairs, scores.units)
    return Aligned(word.metric, metric, system, sample, decided, models, size)


def won_shares(words: Floats, pairs: Pairs, models: int) -> Floats:
    """The share of a model's comparisons that it wins, ties counted half; NaN without any."""
    won, of = np.zeros(models), np.zeros(models)
    half = np.sign(words) / 2
    for at, sign in ((pairs.first, 1), (pairs.second, -1)):
        won += np.bincount(at, weights=0.5 + sign * half, minlength=models)
        of += np.bincount(at, minlength=models)
    with np.errstate(invalid="ignore"):
        shares: Floats = won / of
    return shares


def _compared(pairs: Pairs, values: Floats) -> Floats:
    """Each model's mean score over the samples in which it was compared."""
    seen = np.zeros(values.shape, dtype=np.bool_)
    for at in (pairs.first, pairs.second):
        seen[at, pairs.samples] = True
    return mean_of_present(np.where(seen, values, np.nan), 1)


def win_rates(word: Word, metric: str, scores: Scores) -> tuple[dict[str, Won], dict[str, Won]]:
    """The share of its comparisons that each model wins; and the first of every two models."""
    pairs = pairs_of_choices(word.choices, scores.of(metric))
    ones, twos = {}, {}
    for at, name in enumerate(scores.models):
        sign = (pairs.first == at) * 1.0 - (pairs.second == at)
        ones[name] = _won(pairs, sign, scores)
        for other in range(len(scores.models)):
            both = (pairs.first == at) & (pairs.second == other)
            if both.any():
                twos[f"{name} / {scores.models[other]}"] = _won(pairs, both * 1.0, scores)
    return {name: won for name, won in ones.items() if won.people.value is not None}, twos


def _won(pairs: Pairs, sign: Floats, scores: Scores) -> Won:
    """The share won where the sign is not 0: of the first edit where it is 1, else the second."""
    here = sign != 0
    units = scores.units[pairs.samples[here]]
    won = ((sign * np.sign(of))[here] / 2 + 0.5 for of in (pairs.people, pairs.scores))
    return Won(share(next(won), units), share(next(won), units))
