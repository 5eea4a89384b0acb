"""Detection of unchanged edits, and consistency scores of the edits that follow the instruction.

An edit that equals its source is perfectly consistent, so unchanged edits can raise a model's consistency score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from creval.core.concurrency import usable_cpu_count
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import is_file
from creval.core.image_limits import pixel_budget
from creval.core.images import ImageError, open_image, read_image_size
from creval.metrics.change_detection import ImageChange, measure_change, recompression_noise
from creval.stats.bootstrap import percentile_interval, resample_counts
from creval.stats.intervals import Proportion
from creval.stats.score_table import Floats
from creval.stats.scorecard import MIN_CLUSTERS, Scorecard
from creval.store import RunWriter, open_run
from creval.store.run import Run

_METADATA_KEY = "change"  # key in an edit's metadata: the measured change, and the state of the files
_BATCH_SIZE = 64  # edits stored in one commit
_INSTRUCTION_METRIC = "IF"
_CONSISTENCY_METRICS = ("VC", "IP")


def scan_for_changes(run: str | Path, on_progress: Callable[[int, int], None] | None = None) -> int:
    """Measure and store how much each edit changes its source. Edits measured before are skipped.

    Returns the number of edits whose source or image file is missing.
    """
    with open_run(run) as opened:
        sources = {name: sample.source for name, sample in opened.samples.items()}
    with RunWriter(run) as store:
        edits = [edit for edit in store.edits.values() if edit.status is EditStatus.DONE]
        pairs = ((edit, sources.get(edit.key.sample), edit.image) for edit in edits)
        files = {
            edit.key: (source, image)
            for edit, source, image in pairs
            if source and image and is_file(source) and is_file(image)
        }
        if not files:
            raise CrevalError(
                f"{run}: no images to compare. They were moved or deleted, or the run was replayed without images."
            )
        state = {key: list(map(_file_state, paths)) for key, paths in files.items()}
        there = [edit for edit in edits if edit.key in files]
        wanted = [e for e in there if not _is_known(e.metadata.get(_METADATA_KEY, {}).get("files"), state[e.key])]
        # Sort by source, so that the noise of each source is measured once.
        wanted.sort(key=lambda edit: (edit.key.sample, edit.key))
        done = 0
        with ThreadPoolExecutor(usable_cpu_count()) as pool:
            for start in range(0, len(wanted), _BATCH_SIZE):
                some = wanted[start : start + _BATCH_SIZE]
                found = pool.map(lambda edit: _measure_change(*files[edit.key]), some)
                kept = []
                for edit, fact in zip(some, found, strict=True):
                    fact["files"] = state[edit.key]
                    kept.append(edit._replace(metadata={**edit.metadata, _METADATA_KEY: fact}))
                    done += 1
                    if on_progress is not None:
                        on_progress(done, len(wanted))
                with store.transaction():
                    store.put_edits(kept)
    return len(edits) - len(there)


def _file_state(path: Path) -> list[int]:
    """Return values that change if the file is written, or replaced by another file of the same size and time."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def _is_known(stored: object, state: Sequence[Sequence[int]]) -> bool:
    """Return whether the files are still as stored. Older versions of creval stored only size and time."""
    return stored in (state, [one[:2] for one in state])


def _measure_change(source: Path, image: Path) -> dict[str, object]:
    try:
        pixels = sum(math.prod(read_image_size(path)) for path in (source, image))
        with pixel_budget.reserve(pixels):
            found = measure_change(open_image(source), open_image(image))
            noise = _source_noise(source)
    except ImageError as error:
        return {"broken": str(error)}
    return {**found._asdict(), "unchanged": found.is_within(noise)}


@lru_cache(maxsize=16)
def _source_noise(source: Path) -> ImageChange:
    return recompression_noise(open_image(source))


@dataclass(frozen=True)
class UnchangedSummary:
    """Unchanged edits of a model, and its consistency over all edits and over the edits that follow the instruction.

    `low` and `high` are the interval of `consistency_when_followed` over samples.
    """

    model: str
    unchanged: Proportion
    instruction_following: float | None = None
    consistency: float | None = None
    followed_count: int = 0
    consistency_when_followed: float | None = None
    low: float | None = None
    high: float | None = None


def following_threshold(scorecard: Scorecard) -> float | None:
    """Return the score from which an edit counts as following the instruction: half of the scale.

    None if the run has no scores for following the instruction or none for consistency.
    """
    metrics = {metric.name: metric for metric in scorecard.table.schema.metrics}
    metric = metrics.get(_INSTRUCTION_METRIC)
    if metric is None or metrics.keys().isdisjoint(_CONSISTENCY_METRICS):
        return None
    return (metric.low + metric.high) / 2


def summarise_unchanged(
    run: Run, scorecard: Scorecard, resamples: int = 2_000, seed: int = 0
) -> list[UnchangedSummary]:
    """Summarise each model, best first. Call `scan_for_changes` before."""
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
            found.append(UnchangedSummary(model, share))
            continue
        values = scorecard.table.values[scorecard.table.models.index(model)]
        follows, keeps = (values[:, names.index(_INSTRUCTION_METRIC)], values[:, names.index(keeping)])
        did = (follows >= half) & ~np.isnan(keeps)
        kept = keeps[did]
        mean = float(kept.mean()) if len(kept) else None
        interval = _bootstrap_interval(kept, resamples, seed)
        following, consistency = (scorecard.cell(model, name).value for name in (_INSTRUCTION_METRIC, keeping))
        found.append(UnchangedSummary(model, share, following, consistency, len(kept), mean, *interval))
    return found


def _bootstrap_interval(values: Floats, resamples: int, seed: int) -> tuple[float | None, float | None]:
    """Return the bootstrap interval of a mean over samples."""
    if len(values) < MIN_CLUSTERS:
        return None, None
    draws = [
        counts @ values / counts.sum(axis=1) for counts in resample_counts([np.arange(len(values))], resamples, seed)
    ]
    low, high = percentile_interval(np.concatenate(draws))
    low, high = np.clip([low, high], values.min(), values.max())  # rounding may exceed the range
    return float(low), float(high)
