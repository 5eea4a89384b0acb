"""Measurements of a run's edits, concurrently with judging. Values are stored like answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from creval.calls.call_session import CallSession
from creval.calls.limits import StopSignal
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditStatus, FileStamp
from creval.core.errors import CrevalError
from creval.core.image_limits import MAX_PIXELS_AT_WORK
from creval.core.images import ImageError
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.judging.plan import AnsweredProbes, Plan
from creval.metrics.base import ImageMetric
from creval.metrics.batch import MetricJob, MetricResult, batch_by_edit, evaluate_batch, measured_values
from creval.metrics.features import FeatureCache
from creval.metrics.metric_inputs import PIXELS_PER_BATCH, ImageCache, MetricInputs, NonFiniteResult, NotMeasurable
from creval.providers.huggingface import DependencyMissing
from creval.store.feature_cache_file import FeatureCacheFile
from creval.store.run import METRIC_VOICE_PREFIX

_MAX_REASON_LENGTH = 300  # characters
MeasuredJob = tuple[list[Verdict], Mapping[str, FileStamp], str]
"""Verdicts on an edit, the files that were used, and the error if the edit's own image cannot be used."""


class MeasurementJob(NamedTuple):
    """Measurements of one edit by one metric."""

    image_metric: ImageMetric
    sample: Sample
    edit: Edit
    probes: tuple[Measurement, ...]


def metric_voice(image_metric: ImageMetric) -> str:
    """Return a metric's voice: the name under which a run stores its values."""
    return METRIC_VOICE_PREFIX + image_metric.name


def find_pending_measurements(
    plan: Plan, image_metrics: Mapping[str, ImageMetric], answered: Mapping[str, AnsweredProbes]
) -> Iterator[MeasurementJob]:
    """Yield the missing measurements, edit by edit. `answered` contains the stored ones, by voice."""
    for sample in plan.samples:
        alike: dict[tuple[str, str], list[Measurement]] = {}
        for probe in plan.measurements[sample.id]:
            parameters = json.dumps(dict(probe.parameters), sort_keys=True)
            alike.setdefault((probe.image_metric, parameters), []).append(probe)
        for edit in plan.edits[sample.id]:
            if edit.status is not EditStatus.DONE:
                continue
            for (name, _), probes in alike.items():
                there = answered.get(metric_voice(image_metrics[name]), {}).get(edit.key, set())
                open_ = tuple(probe for probe in probes if (0, probe.id) not in there)
                if open_:
                    yield MeasurementJob(image_metrics[name], sample, edit, open_)


async def run_measurements(measurement_jobs: Sequence[MeasurementJob], run: Path, session: CallSession) -> None:
    """Measure until nothing is left or the session is stopped. Features of images are cached in the run's folder."""
    loop = asyncio.get_running_loop()
    left = batch_by_edit(measurement_jobs, lambda job: job.edit.key)
    image_cache = ImageCache(min(session.threads * PIXELS_PER_BATCH, MAX_PIXELS_AT_WORK))

    async def measure_rest(pool: ThreadPoolExecutor, feature_cache: FeatureCache) -> None:
        while not session.stop_signal and (some := next(left, None)) is not None:
            try:
                found = await loop.run_in_executor(pool, _measure_batch, some, image_cache, feature_cache)
                for job, (_, seen, broken) in zip(some, found, strict=True):
                    session.journal.record_edit(job.edit, seen, broken)
                await session.journal.append([_build_record(job, one[0]) for job, one in zip(some, found, strict=True)])
                session.progress.measurements_done += len(some)
            except Exception as error:  # on any error, in-flight calls finish and are stored
                session.stop_signal.set("error", error)

    pool = ThreadPoolExecutor(session.threads, thread_name_prefix="creval-metrics")
    with closing(FeatureCacheFile(run)) as vectors, pool:
        feature_cache = FeatureCache(vectors)
        stopping = asyncio.create_task(_stop_on_signal(feature_cache, session.stop_signal))
        try:
            await asyncio.gather(*(measure_rest(pool, feature_cache) for _ in range(session.threads)))
        finally:
            stopping.cancel()


async def _stop_on_signal(feature_cache: FeatureCache, stop_signal: StopSignal) -> None:
    """Stop models after their current batch. Computed features are kept. Finishing all edits could take minutes."""
    await stop_signal.wait()
    feature_cache.stop()


def _build_record(job: MeasurementJob, verdicts: Sequence[Verdict]) -> tuple[CallKey, Reply, Sequence[Verdict]]:
    ask = CallKey(metric_voice(job.image_metric), job.edit.key, tuple(probe.id for probe in job.probes))
    whole = all(verdict.status is VerdictStatus.ANSWERED for verdict in verdicts)
    status = VerdictStatus.ANSWERED if whole else verdicts[0].status
    return ask, Reply(status, origin=job.image_metric.name), verdicts


def _measure_batch(
    measurement_jobs: Sequence[MeasurementJob], image_cache: ImageCache, feature_cache: FeatureCache
) -> list[MeasuredJob]:
    jobs = []
    for metric, sample, edit, probes in measurement_jobs:
        assert edit.image is not None  # noqa: S101 (it is done)
        jobs.append(MetricJob(metric, MetricInputs(sample, edit.image, image_cache, probes[0].parameters)))
    results = zip(measurement_jobs, jobs, evaluate_batch(jobs, feature_cache), strict=True)
    return [_build_result(work, job.inputs, result) for work, job, result in results]


def _build_result(job: MeasurementJob, inputs: MetricInputs, result: MetricResult) -> MeasuredJob:
    status, reason, broken = VerdictStatus.INAPPLICABLE, "there is nothing to measure", ""
    seen: dict[str, FileStamp] = {}
    try:
        for shows, (path, image) in inputs.used_files.items():
            name = f"{shows} {path.name}" if shows == "references" else shows
            seen[name] = FileStamp.take(path, image.digest)
    except (ImageError, OSError) as error:
        result = error
    values = measured_values(result)
    about = result.about if isinstance(result, NotMeasurable) else ""
    if isinstance(result, NotMeasurable | DependencyMissing):
        reason = str(result)
    elif isinstance(result, CrevalError | OSError):
        status, reason, broken = VerdictStatus.FAILED, str(result), _find_image_error(inputs)
    elif isinstance(result, NonFiniteResult):
        status, reason = VerdictStatus.FAILED, str(result)
    elif isinstance(result, Exception):
        status, reason = VerdictStatus.FAILED, f"the model failed: {result!r}"
    verdicts = []
    for probe in job.probes:
        # A value has the name of the probe, or of its metric if that has only one value.
        names = [name for name in (probe.id, probe.metric, probe.image_metric) if name in values]
        if names:
            verdicts.append(Verdict(probe.id, VerdictStatus.ANSWERED, values[names[0]]))
        else:
            verdicts.append(Verdict(probe.id, status, raw_answer=about, explanation=reason[:_MAX_REASON_LENGTH]))
    return verdicts, seen, broken


def _find_image_error(inputs: MetricInputs) -> str:
    """Return the error of the edit's own image, or an empty string."""
    try:
        inputs.edit.image  # noqa: B018
    except (ImageError, OSError) as error:
        return str(error)
    return ""
