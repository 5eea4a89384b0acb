"""How far a judge can be trusted: its answers to questions whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from creval.core.errors import CrevalError
from creval.stats.intervals import NOTHING, Estimate, Share, wilson

_MCNEMAR = 6.634896601021213  # the 99 % quantile of chi square with one degree of freedom


class Told(NamedTuple):
    """One answer to one question: what the question belongs to, its truth, and what was said."""

    unit: str
    metric: str
    kind: str
    truth: bool
    said: bool


class Rate(NamedTuple):
    """So many right of so many, as many as they are worth where answers about one picture go
    together."""

    right: float
    total: float

    @property
    def value(self) -> float | None:
        return self.right / self.total if self.total else None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The 95 % interval."""
        return wilson(self.right, self.total) if self.total else (None, None)


@dataclass(frozen=True)
class Rates:
    """Of what is so, how much is affirmed (sensitivity); of what is not, how much is denied
    (specificity). `asked` answers stand behind it."""

    sensitivity: Rate
    specificity: Rate
    asked: int

    @property
    def accuracy(self) -> Estimate:
        """The share that is right where yes and no are equally often true."""
        return _half(self.sensitivity, self.specificity, 1)

    @property
    def yes_bias(self) -> Estimate:
        """By how much yes is said too often, where yes and no are equally often true."""
        return _half(self.sensitivity, self.specificity, -1)


def _half(first: Rate, second: Rate, sign: int) -> Estimate:
    """Half the sum or the difference of two rates. The ends come from those of the two (Newcombe's
    method of variance estimates recovery)."""
    if not first.total or not second.total:
        return NOTHING
    (one, two) = first.right / first.total, second.right / second.total
    low, high = wilson(first.right, first.total)
    low_two, high_two = wilson(second.right, second.total)
    down, up = (two - low_two, high_two - two)[::sign]
    value = one + sign * two
    ends = value - math.hypot(one - low, down), value + math.hypot(high - one, up)
    return Estimate(value / 2 + 0.0, ends[0] / 2, ends[1] / 2)


def rates(told: Sequence[Told]) -> Rates:
    return Rates(
        _rate([(one.unit, one.said) for one in told if one.truth]),
        _rate([(one.unit, not one.said) for one in told if not one.truth]),
        len(told),
    )


def _rate(answers: Iterable[tuple[str, bool]]) -> Rate:
    """A share, its total made smaller by how much answers about one picture go together."""
    sums: dict[str, tuple[int, int]] = {}
    for unit, good in answers:
        count, of = sums.get(unit, (0, 0))
        sums[unit] = count + good, of + 1
    total = sum(n for _, n in sums.values())
    right = sum(k for k, _ in sums.values())
    if not total or len(sums) < 2 or right in (0, total):
        return Rate(right, total)
    share = right / total
    varied = sum((k - share * n) ** 2 for k, n in sums.values()) * len(sums) / (len(sums) - 1)
    effect = max(1.0, varied / (total * share * (1 - share)))
    return Rate(right / effect, total / effect)


class Turned(NamedTuple):
    """How answers changed: so many of so many, some to yes and some to no."""

    to_yes: int
    to_no: int
    total: int

    @property
    def share(self) -> Share:
        return Share(self.to_yes + self.to_no, self.total)

    @property
    def more(self) -> float:
        """How much more often yes was said."""
        return (self.to_yes - self.to_no) / self.total if self.total else 0.0

    @property
    def decided(self) -> bool:
        """Whether they turned one way rather than the other (McNemar's test at 1 %)."""
        both = self.to_yes + self.to_no
        return both > 0 and (self.to_yes - self.to_no) ** 2 / both > _MCNEMAR


def turned(first: Mapping[Any, Told], second: Mapping[Any, Told]) -> Turned:
    """How the answers to the same questions changed."""
    shared = [(first[key].said, second[key].said) for key in first.keys() & second.keys()]
    return Turned(
        sum(not one and other for one, other in shared),
        sum(one and not other for one, other in shared),
        len(shared),
    )


def by(told: Sequence[Told], what: str) -> dict[str, Rates]:
    """Rates over everything, and by metric or by kind of question."""
    names = dict.fromkeys(getattr(one, what) for one in told)
    return {name: rates([one for one in told if getattr(one, what) == name]) for name in names}


def as_json(found: Rates) -> dict[str, Any]:
    def plain(rate: Rate) -> dict[str, Any]:
        low, high = rate.ends
        return {
            "right": rate.right,
            "of": rate.total,
            "value": rate.value,
            "low": low,
            "high": high,
        }

    return {
        "sensitivity": plain(found.sensitivity),
        "specificity": plain(found.specificity),
        "accuracy": found.accuracy._asdict(),
        "yes_bias": found.yes_bias._asdict(),
        "asked": found.asked,
    }


@dataclass(frozen=True)
class Calibration:
    """What is known of a judge: its rates by metric."""

    judge: str
    metrics: Mapping[str, Rates]


def from_json(content: object, where: str) -> Calibration:
    """What a calibration's file holds."""
    try:
        metrics = content["metrics"]  # type: ignore[index]
        found = {str(name): _from_json(entry) for name, entry in metrics.items()}
        return Calibration(str(content["judge"]), found)  # type: ignore[index]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CrevalError(
            f"{where} is not a calibration (creval calibrate --judge SPEC --out FILE)."
        ) from error


def _from_json(entry: Mapping[str, Any]) -> Rates:
    found = []
    for name in ("sensitivity", "specificity"):
        right, total = float(entry[name]["right"]), float(entry[name]["of"])
        if not 0 <= right <= total or total <= 0:
            raise ValueError(f"{right} of {total}")
        found.append(Rate(right, total))
    return Rates(found[0], found[1], int(entry["asked"]))
