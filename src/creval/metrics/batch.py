"""Metrics evaluated on several edits at a time: models first, in batches, then each metric."""

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
"""The values of a metric, or why there are none."""
EDITS_PER_BATCH = 8
T = TypeVar("T")


def measured_values(result: MetricResult) -> Mapping[str, float]:
    """Return what was measured, even if it is only a part."""
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
    """Evaluate all metrics on each edit: values by name, and by metric the reason why there are none."""
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
    """Yield what belongs to a few edits at a time, in its order; what belongs to one edit follows each other."""
    edits = (list(some) for _, some in groupby(items, edit_of))
    while some := list(islice(edits, EDITS_PER_BATCH)):
        yield [item for items in some for item in items]


def evaluate_batch(jobs: Sequence[MetricJob], feature_cache: FeatureCache) -> list[MetricResult]:
    """Return what each job brought, decoding images once; an error about more than one image is raised."""
    found: list[MetricResult] = []
    for some in _group_by_memory(jobs):
        with ExitStack() as until:
            for image_cache in {id(job.inputs.image_cache): job.inputs.image_cache for job in some}.values():
                until.enter_context(image_cache.pin_images())
            with pixel_budget.reserve(_count_pixels(some)):
                found += _evaluate_group(some, feature_cache)
    return found


def _count_pixels(jobs: Sequence[MetricJob]) -> int:
    """Return the pixels of all images that are looked at together."""
    counts: dict[str, int] = {}
    for job in jobs:
        counts |= job.inputs.pixel_counts()
    return sum(counts.values())


def _group_by_memory(jobs: Sequence[MetricJob]) -> Iterator[list[MetricJob]]:
    """Yield the jobs in order: where models look too as many edits at a time as fit in memory, else one."""
    some: list[MetricJob] = []
    there: dict[str, int] = {}
    models = any(type(job.image_metric).required_features is not ImageMetric.required_features for job in jobs)
    for _, on_one in groupby(jobs, lambda job: (job.inputs.edit_path, id(job.inputs.sample))):
        new = list(on_one)
        if not models:
            yield new
            continue
        pixels = new[0].inputs.pixel_counts()
        more = there | pixels
        if some and len(more) > len(there) and sum(more.values()) > PIXELS_PER_BATCH:
            yield some
            some, more = [], pixels
        some += new
        there = more
    if some:
        yield some


def _evaluate_group(jobs: Sequence[MetricJob], feature_cache: FeatureCache) -> list[MetricResult]:
    requests = [_required_features(job) for job in jobs]
    made = feature_cache.compute(one for some in requests if not isinstance(some, Exception) for one in some)
    found: list[MetricResult] = []
    for job, some in zip(jobs, requests, strict=True):
        features = [some] if isinstance(some, Exception) else [made[one.extractor.name, one.key] for one in some]
        failed = next((one for one in features if isinstance(one, Exception)), None)
        found.append(failed or _compute_metric(job, features))
    return found


def _required_features(job: MetricJob) -> Sequence[FeatureRequest] | Exception:
    try:
        requests = job.image_metric.required_features(job.inputs)
        for request in requests:
            request.key  # noqa: B018 (what cannot be read is found here)
        return requests
    except (NotMeasurable, DependencyMissing, ImageError, OSError) as error:
        return error


def _compute_metric(job: MetricJob, features: Sequence[object]) -> MetricResult:
    try:
        found = job.image_metric.measure(job.inputs, features)  # type: ignore[arg-type]
        return found if all(map(math.isfinite, found.values())) else NonFiniteResult()
    except Exception as error:  # somebody else's model on one image
        if isinstance(error, CrevalError) and not isinstance(error, DependencyMissing | ImageError):
            raise
        return error
