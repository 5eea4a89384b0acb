"""Accuracy of a judge on questions whose answers are known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from creval.core.errors import CrevalError
from creval.stats.intervals import NO_ESTIMATE, Estimate, Proportion, wilson_interval

_CHI_SQUARE_99 = 6.634896601021213  # the 99 % quantile of chi square with one degree of freedom


class KnownAnswer(NamedTuple):
    """A judge's answer to a question whose correct answer (`truth`) is known."""

    cluster: str
    metric: str
    kind: str
    truth: bool
    answer: bool


@dataclass(frozen=True)
class JudgeRates:
    """Sensitivity (share of true statements affirmed) and specificity (share of false statements denied).

    `answer_count` is the number of answers. The totals of the two rates are effective sample sizes: they are smaller
    than the number of answers if answers about one image are correlated.
    """

    sensitivity: Proportion
    specificity: Proportion
    answer_count: int

    @property
    def accuracy(self) -> Estimate:
        """The share of correct answers if yes and no are equally often true."""
        return _combine_rates(self.sensitivity, self.specificity, 1)

    @property
    def yes_bias(self) -> Estimate:
        """The share of yes answers minus 50 %, if yes and no are equally often true."""
        return _combine_rates(self.sensitivity, self.specificity, -1)


def _combine_rates(first: Proportion, second: Proportion, sign: int) -> Estimate:
    """Return half the sum or difference of two rates, with Newcombe's interval (recovery of variance estimates)."""
    if not first.total or not second.total:
        return NO_ESTIMATE
    one, two = first.hits / first.total, second.hits / second.total
    low, high = wilson_interval(first.hits, first.total)
    low_two, high_two = wilson_interval(second.hits, second.total)
    down, up = (two - low_two, high_two - two)[::sign]
    value = one + sign * two
    ends = value - math.hypot(one - low, down), value + math.hypot(high - one, up)
    return Estimate(value / 2 + 0.0, ends[0] / 2, ends[1] / 2)


def compute_judge_rates(answers: Sequence[KnownAnswer]) -> JudgeRates:
    return JudgeRates(
        _clustered_rate([(one.cluster, one.answer) for one in answers if one.truth]),
        _clustered_rate([(one.cluster, not one.answer) for one in answers if not one.truth]),
        len(answers),
    )


def _clustered_rate(answers: Iterable[tuple[str, bool]]) -> Proportion:
    """Return a share of correct answers. Its counts are divided by the design effect of clustering by image."""
    hits, sizes = Counter[str](), Counter[str]()
    for unit, good in answers:
        hits[unit] += good
        sizes[unit] += 1
    right, total = hits.total(), sizes.total()
    if not total or len(sizes) < 2 or right in (0, total):
        return Proportion(right, total)
    share = right / total
    variance = sum((hits[unit] - share * n) ** 2 for unit, n in sizes.items()) * len(sizes) / (len(sizes) - 1)
    effect = max(1.0, variance / (total * share * (1 - share)))
    return Proportion(right / effect, total / effect)


class AnswerFlips(NamedTuple):
    """Numbers of answers that changed to yes and to no, and the number of all compared answers."""

    to_yes: int
    to_no: int
    total: int

    @property
    def proportion(self) -> Proportion:
        return Proportion(self.to_yes + self.to_no, self.total)

    @property
    def yes_excess(self) -> float:
        """The increase of the share of yes answers."""
        return (self.to_yes - self.to_no) / self.total if self.total else 0.0

    @property
    def is_decided(self) -> bool:
        """True if significantly more answers changed in one direction than in the other (McNemar's test at 1 %)."""
        both = self.to_yes + self.to_no
        return both > 0 and (self.to_yes - self.to_no) ** 2 / both > _CHI_SQUARE_99


def answer_flips(first: Mapping[Any, KnownAnswer], second: Mapping[Any, KnownAnswer]) -> AnswerFlips:
    """Count the answers that differ, among the questions that are in both mappings."""
    shared = [(first[key].answer, second[key].answer) for key in first.keys() & second.keys()]
    return AnswerFlips(
        sum(not one and other for one, other in shared), sum(one and not other for one, other in shared), len(shared)
    )


def judge_rates_by(answers: Sequence[KnownAnswer], attribute: str) -> dict[str, JudgeRates]:
    """Return the rates for each value of an attribute: `metric` or `kind`."""
    names = dict.fromkeys(getattr(one, attribute) for one in answers)
    return {name: compute_judge_rates([one for one in answers if getattr(one, attribute) == name]) for name in names}


def judge_rates_to_json(rates: JudgeRates) -> dict[str, Any]:
    def plain(rate: Proportion) -> dict[str, Any]:
        low, high = rate.interval
        return {"right": rate.hits, "of": rate.total, "value": rate.value, "low": low, "high": high}

    return {
        "sensitivity": plain(rates.sensitivity),
        "specificity": plain(rates.specificity),
        "accuracy": rates.accuracy.to_dict(),
        "yes_bias": rates.yes_bias.to_dict(),
        "asked": rates.answer_count,
    }


@dataclass(frozen=True)
class Calibration:
    """Rates of a judge by metric."""

    judge: str
    rates_by_metric: Mapping[str, JudgeRates]


def parse_calibration(content: object, where: str) -> Calibration:
    """Parse the content of a calibration file."""
    try:
        metrics = content["metrics"]  # type: ignore[index]
        found = {str(name): _parse_judge_rates(entry) for name, entry in metrics.items()}
        return Calibration(str(content["judge"]), found)  # type: ignore[index]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise CrevalError(f"{where} is not a calibration file (`creval calibrate` writes one).") from error


def _parse_judge_rates(entry: Mapping[str, Any]) -> JudgeRates:
    found = []
    for name in ("sensitivity", "specificity"):
        right, total = float(entry[name]["right"]), float(entry[name]["of"])
        if not 0 <= right <= total < math.inf or total <= 0:
            raise ValueError(f"{right} of {total}")
        found.append(Proportion(right, total))
    return JudgeRates(found[0], found[1], int(entry["asked"]))
