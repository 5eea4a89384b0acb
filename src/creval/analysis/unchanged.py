"""Doing nothing is not consistency: who left sources as they were, and what those who did
something kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creval.stats.bootstrap import interval, resampled_counts
from creval.stats.intervals import Share
from creval.stats.score_table import Floats
from creval.stats.scorecard import FEWEST, Scorecard
from creval.store.run import Run

_FOLLOWING = "IF"
_KEEPING = ("VC", "IP")


@dataclass(frozen=True)
class Unchanged:
    """A system's edits: how many hardly changed their source, and what was kept, of all and of
    those that followed, with the interval of the latter's mean over samples."""

    system: str
    unchanged: Share
    following: float | None
    keeping: float | None
    followed: int
    kept: float | None
    low: float | None
    high: float | None


def followed_from(card: Scorecard) -> float | None:
    """The score from which on an edit has followed its instruction: half of all that can be. None
    where that, or what was kept, is not scored."""
    metrics = {metric.name: metric for metric in card.table.card.metrics}
    metric = metrics.get(_FOLLOWING)
    if metric is None or metrics.keys().isdisjoint(_KEEPING):
        return None
    return (metric.low + metric.high) / 2


def unchanged(run: Run, card: Scorecard, resamples: int = 2_000, seed: int = 0) -> list[Unchanged]:
    """For each system, best first. The run's edits have been looked at."""
    half = followed_from(card)
    samples = set(card.table.samples)
    names = [metric.name for metric in card.table.card.metrics]
    keeping = next((name for name in _KEEPING if name in names), None)
    found = []
    facts = run.facts()
    for system in card.systems:
        looks = [fact["change"] for key, fact in facts.items()
                 if key.system == system and key.sample in samples
                 and "unchanged" in fact.get("change", {})]  # fmt: skip
        share = Share(sum(bool(look["unchanged"]) for look in looks), len(looks))
        if keeping is None or half is None:
            found.append(Unchanged(system, share, None, None, 0, None, None, None))
            continue
        values = card.table.values[card.table.systems.index(system)]
        follows, keeps = values[:, names.index(_FOLLOWING)], values[:, names.index(keeping)]
        did = (follows >= half) & ~np.isnan(keeps)
        kept = keeps[did]
        low, high = _interval(kept, resamples, seed)
        found.append(
            Unchanged(
                system,
                share,
                card.cell(system, _FOLLOWING).value,
                card.cell(system, keeping).value,
                int(did.sum()),
                float(kept.mean()) if len(kept) else None,
                low,
                high,
            )
        )
    return found


def _interval(values: Floats, resamples: int, seed: int) -> tuple[float | None, float | None]:
    """The bootstrap interval of a mean over samples."""
    if len(values) < FEWEST:
        return None, None
    draws = [counts @ values / counts.sum(axis=1)
             for counts in resampled_counts([np.arange(len(values))], resamples, seed)]  # fmt: skip
    low, high = interval(np.concatenate(draws))
    low, high = np.clip([low, high], values.min(), values.max())  # rounding may go beyond
    return float(low), float(high)
