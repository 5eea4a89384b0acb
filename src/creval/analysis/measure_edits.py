"""Measuring the edits of a benchmark with gauges, outside any run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from creval.core.benchmark import Benchmark
from creval.core.concurrency import cores
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.files import clean_text
from creval.core.sample import Sample
from creval.metrics.base import Gauge
from creval.metrics.batch import TOGETHER, Job, measure_all, values_of
from creval.metrics.embeddings import Embeddings
from creval.metrics.inputs import PIXELS, Exhibit, Shelf
from creval.store.edit_folders import find_edits


class Gauged(NamedTuple):
    """What gauges found in one edit: values by name, and reasons by gauge where there are none.

    `unit` is what its sample was made of.
    """

    key: EditKey
    unit: str
    values: Mapping[str, float]
    reasons: Mapping[str, str]


def gauge_edits(
    benchmark: Benchmark,
    folders: Sequence[str | Path],
    gauges: Mapping[str, Gauge],
    embeddings: Embeddings,
    *,
    limit: int | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> list[Gauged]:
    """Every edit in these folders, measured; the systems' edits of a sample follow each other."""
    dataset = benchmark.dataset
    samples = {sample.id: sample for sample in dataset.samples}
    found = find_edits(folders, dataset.samples, dataset.place, dataset.told)
    edits = [edit for edit in found.edits if edit.status is EditStatus.DONE]
    order = {identity: at for at, identity in enumerate(samples)}
    edits.sort(key=lambda edit: order[edit.key.sample])
    if limit is not None:
        kept = set(list(dict.fromkeys(edit.key.sample for edit in edits))[:limit])
        edits = [edit for edit in edits if edit.key.sample in kept]
    if not edits:
        raise CrevalError("none of the samples has an edited picture.")
    threads = min(8, cores())
    shelf = Shelf(threads * PIXELS)

    def measured(some: Sequence[Edit]) -> list[Gauged]:
        return _gauged([(edit, samples[edit.key.sample]) for edit in some], gauges, shelf,
                       embeddings)  # fmt: skip

    done: list[Gauged] = []
    pool = ThreadPoolExecutor(threads, thread_name_prefix="creval-gauges")
    try:
        for some in pool.map(measured, _chunks(edits)):
            done += some
            if watch is not None:
                watch(len(done), len(edits))
    except BaseException:
        embeddings.stop()  # or it would be waited for whole edits, and models can be slow
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return done


def _chunks(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    left = iter(edits)
    while some := list(islice(left, TOGETHER)):
        yield some


def _gauged(
    edits: Sequence[tuple[Edit, Sample]],
    gauges: Mapping[str, Gauge],
    shelf: Shelf,
    embeddings: Embeddings,
) -> list[Gauged]:
    jobs = [
        Job(gauge, Exhibit(sample, edit.image, shelf))
        for edit, sample in edits
        for gauge in gauges.values()
        if edit.image is not None
    ]
    outcomes = iter(measure_all(jobs, embeddings))
    done = []
    for edit, sample in edits:
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name in gauges:
            outcome = next(outcomes)
            values |= values_of(outcome)
            if isinstance(outcome, Exception):
                reasons[name] = clean_text(str(outcome) or repr(outcome))
        done.append(Gauged(edit.key, sample.unit, values, reasons))
    return done
