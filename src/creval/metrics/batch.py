"""Batch evaluation: extract all features for a batch of edits, then compute each metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby, islice
from typing import NamedTuple, TypeVar

from creval.core.errors import CrevalError
from creval.core.files import replace_lone_surrogates
from creval.core.image_limits import pixel_budget
from creval.core.images import ImageError
from creval.metrics.base import ImageMetric
from creval.metrics.features import FeatureCache, FeatureRequest
from creval.metrics.metric_inputs import PIXELS_PER_BATCH, MetricInputs, NonFiniteResult, NotMeasurable
from creval.providers.huggingface import DependencyMissing

MetricResult = Mapping[str, float] | Exception
"""The values of a metric, or the error that prevented them."""
EDITS_PER_BATCH = 8
T = TypeVar("T")


def measured_values(result: MetricResult) -> Mapping[str, float]:
    """Return the values in a result. A failed metric may have measured some of its values, or none."""
    if isinstance(result, NotMeasurable):
        return result.values
    return {} if isinstance(result, Exception) else result


class MetricJob(NamedTuple):
    """One evaluation of a metric on an edit."""

    image_metric: ImageMetric
    inputs: MetricInputs


def evaluate_edits(
    edits: Sequence[MetricInputs], image_metrics: Mapping[str, ImageMetric], feature_cache: FeatureCache
) -> list[tuple[dict[str, float], dict[str, str]]]:
    """Evaluate all metrics on each edit.

    Returns, for each edit, the values by name and, for each metric that failed, the reason.
    """
    jobs = [MetricJob(metric, inputs) for inputs in edits for metric in image_metrics.values()]
    results = iter(evaluate_batch(jobs, feature_cache))
    found = []
    for _ in edits:
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name in image_metrics:
            result = next(results)
            values |= measured_values(result)
            if isinstance(result, Exception):
                reasons[name] = replace_lone_surrogates(str(result) or repr(result))
        found.append((values, reasons))
    return found


def batch_by_edit(items: Iterable[T], edit_of: Callable[[T], object]) -> Iterator[list[T]]:
    """Yield the items in batches of a few edits, in order. The items of an edit must be adjacent."""
    edits = (list(group) for _, group in groupby(items, edit_of))
    while batch := list(islice(edits, EDITS_PER_BATCH)):
        yield [item for items in batch for item in items]


def evaluate_batch(jobs: Sequence[MetricJob], feature_cache: FeatureCache) -> list[MetricResult]:
    """Return the result of each job. Each image is decoded once.

    An error that concerns a single image is returned as a result. Other errors are raised.
    """
    found: list[MetricResult] = []
    for group in _group_by_memory(jobs):
        with ExitStack() as stack:
            for image_cache in {id(job.inputs.image_cache): job.inputs.image_cache for job in group}.values():
                stack.enter_context(image_cache.pin_images())
            with pixel_budget.reserve(_count_pixels(group)):
                found += _evaluate_group(group, feature_cache)
    return found


def _count_pixels(jobs: Sequence[MetricJob]) -> int:
    """Return the number of pixels of all images that the jobs decode."""
    counts: dict[str, int] = {}
    for job in jobs:
        counts |= job.inputs.pixel_counts()
    return sum(counts.values())


def _group_by_memory(jobs: Sequence[MetricJob]) -> Iterator[list[MetricJob]]:
    """Yield the jobs in order, in groups whose images fit in memory.

    If no metric uses a model, each group has the jobs of one edit.
    """
    group: list[MetricJob] = []
    group_pixels: dict[str, int] = {}
    uses_models = any(type(job.image_metric).required_features is not ImageMetric.required_features for job in jobs)
    for _, edit_jobs in groupby(jobs, lambda job: (job.inputs.edit_path, id(job.inputs.sample))):
        new = list(edit_jobs)
        if not uses_models:
            yield new
            continue
        pixels = new[0].inputs.pixel_counts()
        total = group_pixels | pixels
        if group and len(total) > len(group_pixels) and sum(total.values()) > PIXELS_PER_BATCH:
            yield group
            group, total = [], pixels
        group += new
        group_pixels = total
    if group:
        yield group


def _evaluate_group(jobs: Sequence[MetricJob], feature_cache: FeatureCache) -> list[MetricResult]:
    requests = [_required_features(job) for job in jobs]
    computed = feature_cache.compute(
        request for requested in requests if not isinstance(requested, Exception) for request in requested
    )
    found: list[MetricResult] = []
    for job, requested in zip(jobs, requests, strict=True):
        if isinstance(requested, Exception):
            features: list[object] = [requested]
        else:
            features = [computed[request.extractor.name, request.key] for request in requested]
        failed = next((feature for feature in features if isinstance(feature, Exception)), None)
        found.append(failed or _compute_metric(job, features))
    return found


def _required_features(job: MetricJob) -> Sequence[FeatureRequest] | Exception:
    try:
        requests = job.image_metric.required_features(job.inputs)
        for request in requests:
            request.key  # noqa: B018 (raises if the image cannot be read)
        return requests
    except (NotMeasurable, DependencyMissing, ImageError, OSError) as error:
        return error


def _compute_metric(job: MetricJob, features: Sequence[object]) -> MetricResult:
    try:
        found = job.image_metric.measure(job.inputs, features)  # type: ignore[arg-type]
        return found if all(map(math.isfinite, found.values())) else NonFiniteResult()
    except Exception as error:  # a third-party model can raise any error for an image
        if isinstance(error, CrevalError) and not isinstance(error, DependencyMissing | ImageError):
            raise
        return error
