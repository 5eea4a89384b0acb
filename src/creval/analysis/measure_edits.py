"""Metrics of a benchmark's edits, without a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from creval.core.benchmark import Benchmark
from creval.core.concurrency import usable_cpu_count
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.image_limits import MAX_PIXELS_AT_WORK
from creval.core.images import read_image_size
from creval.core.sample import Sample
from creval.metrics.base import ImageMetric
from creval.metrics.batch import batch_by_edit, evaluate_edits
from creval.metrics.features import FeatureCache
from creval.metrics.metric_inputs import PIXELS_PER_BATCH, ImageCache, MetricInputs
from creval.metrics.requested_text import normalise_for_comparison
from creval.store.edit_folders import find_edits


class MeasuredEdit(NamedTuple):
    """Values of one edit by name, the `cluster` of its sample, and the reason for each missing value, by metric."""

    key: EditKey
    cluster: str
    values: Mapping[str, float]
    reasons: Mapping[str, str]


def measure_edits(
    benchmark: Benchmark,
    folders: Sequence[str | Path],
    image_metrics: Mapping[str, ImageMetric],
    feature_cache: FeatureCache,
    *,
    limit: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[MeasuredEdit]:
    """Measure every edit in these folders, ordered by sample."""
    dataset = benchmark.dataset
    samples = {sample.id: sample for sample in dataset.samples}
    found = find_edits(folders, dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
    edits = [edit for edit in found.edits if edit.status is EditStatus.DONE]
    order = {identity: at for at, identity in enumerate(samples)}
    edits.sort(key=lambda edit: order[edit.key.sample])
    if limit is not None:
        kept = set(list(dict.fromkeys(edit.key.sample for edit in edits))[:limit])
        edits = [edit for edit in edits if edit.key.sample in kept]
    if not edits:
        raise CrevalError("no sample has an edited image in these folders.")
    threads = min(8, usable_cpu_count())
    image_cache = ImageCache(min(threads * PIXELS_PER_BATCH, MAX_PIXELS_AT_WORK))

    def measured(some: Sequence[Edit]) -> list[MeasuredEdit]:
        inputs = [MetricInputs(samples[edit.key.sample], edit.image, image_cache) for edit in some if edit.image]
        found = evaluate_edits(inputs, image_metrics, feature_cache)
        return [
            MeasuredEdit(edit.key, samples[edit.key.sample].cluster, *values)
            for edit, values in zip(some, found, strict=True)
        ]

    done: list[MeasuredEdit] = []
    pool = ThreadPoolExecutor(threads, thread_name_prefix="creval-metrics")
    try:
        for some in pool.map(measured, batch_by_edit(edits, lambda edit: edit.key)):
            done += some
            if on_progress is not None:
                on_progress(len(done), len(edits))
    except BaseException:
        feature_cache.stop()  # otherwise the pool waits for slow models
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return done


def measure_images(
    image_metrics: Mapping[str, ImageMetric],
    images: Sequence[str | Path],
    *,
    mask: str | Path | None = None,
    captions: Mapping[str, str] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
) -> MeasuredEdit:
    """Measure one image, or two: a source and its edit. A mask is white in the region to edit.

    `captions` has the keys `source` and `target`, `texts` the keys `wanted` (text that must be in the edit)
    and `removed` (text that must not).
    """
    if not 1 <= len(images) <= 2:
        raise CrevalError("give one image, or two: a source and its edit.")
    if mask is not None and not str(mask).strip():
        raise CrevalError("`mask` takes a file name, not an empty string.")
    for name, given in (texts or {}).items():
        if not all(map(normalise_for_comparison, given)):
            raise CrevalError(f"`{name}` takes a text with visible characters, not an empty one.")
    for file in (*images, *([mask] if mask else [])):
        read_image_size(file)  # fail on a file that is not an image before anything is measured
    *first, edit = map(Path, images)
    sample = Sample(
        "pictures",
        "",
        first[0] if first else None,
        mask=Path(mask) if mask else None,
        references=tuple(first),
        captions=captions or {},
    )
    inputs = MetricInputs(sample, edit, ImageCache(), texts or {})
    ((values, reasons),) = evaluate_edits([inputs], image_metrics, FeatureCache())
    return MeasuredEdit(EditKey("", edit.name), sample.cluster, values, reasons)
