"""Agreement of several voices: judges, repeats of a judge, or people.

A table of answers has a row for each rated item and a column for each voice; NaN is a missing answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creval.core.schema import Level
from creval.stats.bootstrap import percentile_interval, resample_counts
from creval.stats.intervals import none_if_nan
from creval.stats.score_table import Floats, Integers
from creval.stats.scorecard import MIN_CLUSTERS

DistanceFunction = Callable[[Floats, Floats], Floats]
"""Takes the distinct answers and how often each was given. Returns the matrix of distances between them."""


ALL_METRICS = "all"
OptionalInterval = tuple[float | None, float | None]


class Agreement(NamedTuple):
    """Measures of agreement.

    `items` is the number of items with two or more answers. `percent` is the share of equal pairs of answers. `cohen`
    is the mean of Cohen's kappa over pairs of voices. `fleiss` is Fleiss' kappa over the items that all voices rated.
    `alpha` is Krippendorff's alpha. `percent_ends` and `alpha_ends` are the ends of 95 % intervals, if requested.
    """

    items: int
    percent: float | None
    cohen: float | None
    fleiss: float | None
    alpha: float | None
    percent_ends: OptionalInterval = (None, None)
    alpha_ends: OptionalInterval = (None, None)


def compute_agreement(
    answers: Floats, distance: str = "nominal", clusters: Integers | None = None, resamples: int = 2_000, seed: int = 0
) -> Agreement:
    """Measure the agreement of voices with a `distance` between answers. If `clusters` is given, add intervals."""
    rated = (~np.isnan(answers)).sum(axis=1)
    pairs = [(answers[:, first], answers[:, second]) for first in range(answers.shape[1]) for second in range(first)]
    kappas = [kappa for pair in pairs if (kappa := cohen_kappa(*pair)) is not None]
    return Agreement(
        int((rated > 1).sum()),
        percent_agreement(answers),
        float(np.mean(kappas)) if kappas else None,
        fleiss_kappa(answers),
        krippendorff_alpha(answers, distance),
        *(_bootstrap_intervals(answers, distance, clusters, resamples, seed) if clusters is not None else ()),
    )


def agreement_by_group(
    table: AnswerTable, level: Level | None = None, distance: str | None = None, resamples: int = 2_000, seed: int = 0
) -> dict[tuple[str, str], Agreement]:
    """Return the agreement over all items (`all`), by metric, and by metric and group of a level."""
    samples = np.array([item.sample for item in table.items])
    units = np.unique(samples, return_inverse=True)[1]
    metrics = np.array([item.metric for item in table.items])

    def measured(chosen: NDArray[np.bool_]) -> Agreement:
        some = table.select_items(chosen)
        return compute_agreement(some.values, distance or some.default_distance, units[chosen], resamples, seed)

    found = {}
    if len(np.unique(metrics)) > 1:
        found[ALL_METRICS, ""] = measured(np.ones(len(metrics), dtype=np.bool_))
    for metric in dict.fromkeys(metrics.tolist()):
        here = metrics == metric
        found[metric, ""] = measured(here)
        if level is None:
            continue
        for group in level.groups:
            inside = here & [item.tags.get(level.name) == group for item in table.items]
            if inside.any():
                found[metric, group] = measured(inside)
    return found


def _bootstrap_intervals(
    answers: Floats, distance: str, clusters: Integers, resamples: int, seed: int
) -> tuple[OptionalInterval, OptionalInterval]:
    """Return the bootstrap intervals of percent and alpha. Clusters are resampled."""
    counts, values = _answer_counts(answers)
    rated = counts.sum(axis=1)
    counts, answers, clusters = counts[rated > 1], answers[rated > 1], clusters[rated > 1]
    rated = rated[rated > 1]
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < MIN_CLUSTERS:
        return (None, None), (None, None)
    place = place.reshape(-1)
    sums = np.zeros((len(names), 2))
    alike = [(counts * (counts - 1)).sum(axis=1), rated * (rated - 1)]
    np.add.at(sums, place, np.stack(alike, axis=1))
    together = None if distance == "interval" else _cluster_coincidences(counts, rated, place)
    shares, alphas = [], []
    for drawn in resample_counts([np.arange(len(names))], resamples, seed):
        same, of = (drawn @ sums).T
        shares.append(np.minimum(100 * (same / of), 100.0))
        if together is None:
            alphas.append(interval_alpha(answers, drawn[:, place]))
        else:
            size = len(values)
            found = (drawn @ together).reshape(-1, size, size)
            alphas.append(np.array([_alpha_from_coincidences(one, values, distance) for one in found]))
    return _bootstrap_ends(shares), _bootstrap_ends(alphas)


def _cluster_coincidences(counts: Floats, rated: Floats, cluster_index: Integers) -> Floats:
    """Return each cluster's coincidence matrix, flattened: how often each pair of answers was given to one item."""
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    sums = np.zeros((int(cluster_index.max()) + 1, counts.shape[1] ** 2))
    np.add.at(sums, cluster_index, (pairs / (rated - 1)[:, None, None]).reshape(len(counts), -1))
    return sums


def _bootstrap_ends(draws: Sequence[Floats]) -> OptionalInterval:
    low, high = percentile_interval(np.concatenate(draws))
    return none_if_nan(float(low)), none_if_nan(float(high))


def percent_agreement(answers: Floats) -> float | None:
    """Return the share of pairs of answers to the same item that are equal, in percent."""
    counts = _answer_counts(answers)[0]
    rated = counts.sum(axis=1)
    same, total = float((counts * (counts - 1)).sum()), float((rated * (rated - 1)).sum())
    return 100 * same / total if total else None


def cohen_kappa(first: Floats, second: Floats) -> float | None:
    """Return Cohen's kappa of two voices, or None if the expected agreement is 1."""
    both = ~np.isnan(first) & ~np.isnan(second)
    one, other = first[both], second[both]
    if not len(one):
        return None
    values = np.unique(np.concatenate([one, other]))
    shares = [(voice[:, None] == values).mean(axis=0) for voice in (one, other)]
    chance = float(shares[0] @ shares[1])
    return (float((one == other).mean()) - chance) / (1 - chance) if chance < 1 else None


def fleiss_kappa(answers: Floats) -> float | None:
    """Return Fleiss' kappa over the items that all voices rated."""
    rated = answers[~np.isnan(answers).any(axis=1)]
    voices = answers.shape[1]
    if not len(rated) or voices < 2:
        return None
    counts, _ = _answer_counts(rated)
    alike = ((counts * (counts - 1)).sum(axis=1) / (voices * (voices - 1))).mean()
    chance = float(np.square(counts.sum(axis=0) / counts.sum()).sum())
    return float((alike - chance) / (1 - chance)) if chance < 1 else None


def kappa_interval(answers: Floats, clusters: Integers, resamples: int = 2_000, seed: int = 0) -> OptionalInterval:
    """Return the ends of the 95 % interval of kappa over the items that all voices rated.

    Kappa is Cohen's for two voices and Fleiss' for more. The items of a cluster are drawn together.
    """
    rated = ~np.isnan(answers).any(axis=1)
    answers, clusters = answers[rated], clusters[rated]
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) < MIN_CLUSTERS:
        return None, None
    values, voices = np.unique(answers), answers.shape[1]
    chosen = (answers[:, :, None] == values).astype(np.float64)  # item, voice, value
    counts = chosen.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1) / (voices * (voices - 1))
    columns = np.concatenate([np.ones((len(answers), 1)), same[:, None], chosen.reshape(len(answers), -1)], axis=1)
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, place.reshape(-1), columns)
    draws = []
    for drawn in resample_counts([np.arange(len(names))], resamples, seed):
        found = drawn @ sums
        shares = (found[:, 2:] / found[:, :1]).reshape(-1, voices, len(values))
        chance = (
            (shares[:, 0] * shares[:, 1]).sum(axis=1) if voices == 2 else np.square(shares.mean(axis=1)).sum(axis=1)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            kappa = np.where(chance < 1 - 1e-12, (found[:, 1] / found[:, 0] - chance) / (1 - chance), np.nan)
        draws.append(kappa)
    return _bootstrap_ends(draws)


def krippendorff_alpha(answers: Floats, distance: str = "nominal") -> float | None:
    """Return Krippendorff's alpha. Items that only one voice rated are ignored."""
    counts, values = _answer_counts(answers)
    rated = counts.sum(axis=1)
    counts, rated = counts[rated > 1], rated[rated > 1]
    if not len(counts):
        return None
    if distance == "interval":
        return none_if_nan(interval_alpha(answers, np.ones((1, len(answers))))[0])
    weighted = counts / (rated - 1)[:, None]
    coincidences = counts.T @ weighted - np.diag(weighted.sum(axis=0))
    return none_if_nan(_alpha_from_coincidences(coincidences, values, distance))


def interval_alpha(answers: Floats, counts: Floats) -> Floats:
    """Return Krippendorff's alpha for interval data, with items weighted by `counts`; NaN if all answers are equal.

    Alpha is 1 minus the ratio of the variation within items to the variation between all answers. `counts` has the axes
    draw, item.
    """
    sizes = (~np.isnan(answers)).sum(axis=1).astype(np.float64)
    several = sizes > 1
    answers, counts, sizes = answers[several], counts[:, several], sizes[several]
    apart = answers - (np.nanmean(answers) if len(answers) else 0.0)  # so that squares stay small
    sums, squares = np.nansum(apart, axis=1), np.nansum(apart**2, axis=1)
    within = 2 * (sizes * squares - sums**2) / (sizes - 1)
    total, one, two = (counts @ of for of in (sizes, sums, squares))
    with np.errstate(invalid="ignore", divide="ignore"):
        among = 2 * (total * two - one**2) / (total - 1)
        alpha: Floats = np.where(among > 1e-12 * two, 1 - (counts @ within) / among, np.nan)
    return alpha


def _alpha_from_coincidences(coincidences: Floats, values: Floats, distance: str) -> float:
    """Return alpha from a coincidence matrix; NaN if all answers are equal."""
    given = coincidences.sum(axis=1)
    apart = DISTANCES[distance](values, given)
    by_chance = ((np.outer(given, given) - np.diag(given)) * apart).sum()
    if by_chance == 0:
        return math.nan
    return float(1 - (given.sum() - 1) * (coincidences * apart).sum() / by_chance)


def _answer_counts(answers: Floats) -> tuple[Floats, Floats]:
    """Return how often each answer was given to each item, and the distinct answers in order."""
    values = np.unique(answers[~np.isnan(answers)])
    return (answers[:, :, None] == values).sum(axis=1).astype(np.float64), values


def _nominal_distance(values: Floats, frequencies: Floats) -> Floats:
    del frequencies
    return 1.0 - np.eye(len(values))


def _ordinal_distance(values: Floats, frequencies: Floats) -> Floats:
    del values
    ends = np.cumsum(frequencies)
    middle = ends - frequencies / 2
    found: Floats = np.square(np.subtract.outer(middle, middle))
    return found


DISTANCES: dict[str, DistanceFunction] = {"nominal": _nominal_distance, "ordinal": _ordinal_distance}
DISTANCE_NAMES = (*DISTANCES, "interval")


@dataclass(frozen=True)
class AgreementItem:
    """One rated item. `is_nominal` is True if its answers have no order, such as yes and no."""

    sample: str
    metric: str
    tags: Mapping[str, str]
    is_nominal: bool


@dataclass(frozen=True)
class AnswerTable:
    """Answers of each voice to each item; axes item, voice.

    `reworded` counts questions that were left out because their text was not the same for all voices.
    """

    items: tuple[AgreementItem, ...]
    voices: tuple[str, ...]
    values: Floats
    reworded: int = 0

    @property
    def default_distance(self) -> str:
        """The distance to use if none is given: nominal if all items are nominal, otherwise interval."""
        return "nominal" if all(item.is_nominal for item in self.items) else "interval"

    def select_items(self, chosen: NDArray[np.bool_]) -> AnswerTable:
        """Return the table of the items chosen by a mask."""
        items = tuple(item for item, taken in zip(self.items, chosen, strict=True) if taken)
        return replace(self, items=items, values=self.values[chosen])
