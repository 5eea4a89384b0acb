"""Doing nothing is not consistency: who left sources as they were, and what those who did something kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creval.stats.bootstrap import percentile_interval, resample_counts
from creval.stats.intervals import Proportion
from creval.stats.score_table import Floats
from creval.stats.scorecard import MIN_CLUSTERS, Scorecard
from creval.store.run import Run

_INSTRUCTION_METRIC = "IF"
_CONSISTENCY_METRICS = ("VC", "IP")


@dataclass(frozen=True)
class UnchangedSummary:
    """A system's edits: how many hardly changed their source, and what was kept, of all and of
    those that followed, with the interval of the latter's mean over samples."""

    model: str
    unchanged: Proportion
    instruction_following: float | None
    consistency: float | None
    followed_count: int
    consistency_when_followed: float | None
    low: float | None
    high: float | None


def following_threshold(scorecard: Scorecard) -> float | None:
    """The score from which on an edit has followed its instruction: half of all that can be. None
    where that, or what was kept, is not scored."""
    metrics = {metric.name: metric for metric in scorecard.table.schema.metrics}
    metric = metrics.get(_INSTRUCTION_METRIC)
    if metric is None or metrics.keys().isdisjoint(_CONSISTENCY_METRICS):
        return None
    return (metric.low + metric.high) / 2


def summarise_unchanged(
    run: Run, scorecard: Scorecard, resamples: int = 2_000, seed: int = 0
) -> list[UnchangedSummary]:
    """For each system, best first. The run's edits have been looked at."""
    half = following_threshold(scorecard)
    samples = set(scorecard.table.samples)
    names = [metric.name for metric in scorecard.table.schema.metrics]
    keeping = next((name for name in _CONSISTENCY_METRICS if name in names), None)
    found = []
    facts = run.edit_metadata()
    for model in scorecard.models:
        looks = [
            fact["change"]
            for key, fact in facts.items()
            if key.model == model and key.sample in samples and "unchanged" in fact.get("change", {})
        ]
        share = Proportion(sum(bool(look["unchanged"]) for look in looks), len(looks))
        if keeping is None or half is None:
            found.append(UnchangedSummary(model, share, None, None, 0, None, None, None))
            continue
        values = scorecard.table.values[scorecard.table.models.index(model)]
        follows, keeps = (values[:, names.index(_INSTRUCTION_METRIC)], values[:, names.index(keeping)])
        did = (follows >= half) & ~np.isnan(keeps)
        kept = keeps[did]
        low, high = _bootstrap_interval(kept, resamples, seed)
        found.append(
            UnchangedSummary(
                model,
                share,
                scorecard.cell(model, _INSTRUCTION_METRIC).value,
                scorecard.cell(model, keeping).value,
                int(did.sum()),
                float(kept.mean()) if len(kept) else None,
                low,
                high,
            )
        )
    return found


def _bootstrap_interval(values: Floats, resamples: int, seed: int) -> tuple[float | None, float | None]:
    """The bootstrap interval of a mean over samples."""
    if len(values) < MIN_CLUSTERS:
        return None, None
    draws = [
        counts @ values / counts.sum(axis=1) for counts in resample_counts([np.arange(len(values))], resamples, seed)
    ]
    low, high = percentile_interval(np.concatenate(draws))
    low, high = np.clip([low, high], values.min(), values.max())  # rounding may go beyond
    return float(low), float(high)
