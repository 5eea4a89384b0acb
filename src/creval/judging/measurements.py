"""Measuring edits, beside the asking: every value kept as an answer is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from creval.calls.journal import Ledger
from creval.calls.limits import Halt
from creval.calls.retry import Progress
from creval.core.call import Ask, Reply
from creval.core.edit import Edit, EditKey, EditStatus, Stamp
from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.core.probe import Measurement
from creval.core.sample import Sample
from creval.core.verdict import Status, Verdict
from creval.judging.plan import Answered, Plan
from creval.metrics.base import Gauge
from creval.metrics.batch import TOGETHER, Job, Outcome, measure_all, values_of
from creval.metrics.embeddings import Embeddings
from creval.metrics.inputs import PIXELS, Exhibit, NoNumber, Shelf, Unmeasured
from creval.providers.huggingface import Missing
from creval.store.edit_folders import stamp_of
from creval.store.embedding_cache import Vectors
from creval.store.run import VOICE

_LONGEST = 300  # characters of a reason
"""Edits that models look at together."""


class Work(NamedTuple):
    """What a gauge is to measure of one edit."""

    gauge: Gauge
    sample: Sample
    edit: Edit
    probes: tuple[Measurement, ...]


def voice(gauge: Gauge) -> str:
    """The name under which a run keeps what a gauge measured."""
    return VOICE + gauge.name


def to_measure(
    plan: Plan, gauges: Mapping[str, Gauge], done: Mapping[str, Answered]
) -> Iterator[Work]:
    """What is not measured yet, edit by edit; `done` is by the gauges' voices."""
    for sample in plan.samples:
        alike: dict[tuple[str, str], list[Measurement]] = {}
        for probe in plan.measurements[sample.id]:
            parameters = json.dumps(dict(probe.parameters), sort_keys=True)
            alike.setdefault((probe.gauge, parameters), []).append(probe)
        for edit in plan.edits[sample.id]:
            if edit.status is not EditStatus.DONE:
                continue
            for (name, _), probes in alike.items():
                there = done.get(voice(gauges[name]), {}).get(edit.key, set())
                open_ = tuple(probe for probe in probes if (0, probe.id) not in there)
                if open_:
                    yield Work(gauges[name], sample, edit, open_)


def together(works: Sequence[Work]) -> Iterator[list[Work]]:
    """The work on a few edits at a time, in its order."""
    some: list[Work] = []
    edits: set[EditKey] = set()
    for work in works:
        if len(edits) == TOGETHER and work.edit.key not in edits:
            yield some
            some, edits = [], set()
        some.append(work)
        edits.add(work.edit.key)
    if some:
        yield some


async def measure(
    works: Sequence[Work],
    run: Path,
    *,
    threads: int,
    ledger: Ledger,
    progress: Progress,
    halt: Halt,
) -> None:
    """Measure until all is measured, or the word to stop comes. What models make of pictures is
    kept beside the run."""
    loop = asyncio.get_running_loop()
    left = together(works)
    shelf = Shelf(threads * PIXELS)

    async def keep(pool: ThreadPoolExecutor, embeddings: Embeddings) -> None:
        while not halt and (some := next(left, None)) is not None:
            try:
                found = await loop.run_in_executor(pool, _measured, some, shelf, embeddings)
                for work, (_, seen, broken) in zip(some, found, strict=True):
                    ledger.note(work.edit, seen, broken)
                records = zip(some, found, strict=True)
                await ledger.put([_record(work, one.verdicts) for work, one in records])
                progress.measured += len(some)
            except Exception as error:  # whatever it is, others finish and keep their answers
                halt.now("error", error)

    pool = ThreadPoolExecutor(threads, thread_name_prefix="creval-gauges")
    with closing(Vectors(run)) as vectors, pool:
        embeddings = Embeddings(vectors)
        stopping = asyncio.create_task(_stop(embeddings, halt))
        try:
            await asyncio.gather(*(keep(pool, embeddings) for _ in range(threads)))
        finally:
            stopping.cancel()


async def _stop(embeddings: Embeddings, halt: Halt) -> None:
    """Let models end with the batch that they are at: what they made is kept, and whole edits can
    take minutes."""
    await halt.came()
    embeddings.stop()


def _record(work: Work, verdicts: Sequence[Verdict]) -> tuple[Ask, Reply, Sequence[Verdict]]:
    ask = Ask(voice(work.gauge), work.edit.key, tuple(probe.id for probe in work.probes))
    whole = all(verdict.status is Status.ANSWERED for verdict in verdicts)
    status = Status.ANSWERED if whole else verdicts[0].status
    return ask, Reply(status, origin=work.gauge.name), verdicts


class _Found(NamedTuple):
    """What came of measuring an edit: verdicts, the pictures that were looked at, and what is wrong
    with the edit's own, if anything is."""

    verdicts: list[Verdict]
    seen: Mapping[str, Stamp]
    broken: str


def _measured(works: Sequence[Work], shelf: Shelf, embeddings: Embeddings) -> list[_Found]:
    jobs = []
    for work in works:
        path = work.edit.image
        assert path is not None  # noqa: S101 (it is done)
        parameters = work.probes[0].parameters
        jobs.append(Job(work.gauge, Exhibit(work.sample, path, shelf, parameters)))
    outcomes = measure_all(jobs, embeddings)
    return [
        _found(work, job.exhibit, outcome)
        for work, job, outcome in zip(works, jobs, outcomes, strict=True)
    ]


def _found(work: Work, exhibit: Exhibit, outcome: Outcome) -> _Found:
    status, reason, about, broken = Status.INAPPLICABLE, "there is nothing to measure", "", ""
    seen: dict[str, Stamp] = {}
    try:
        for shows, (path, picture) in exhibit.used.items():
            name = f"{shows} {path.name}" if shows == "references" else shows
            seen[name] = stamp_of(path, picture.digest)
    except (ImageError, OSError) as error:
        outcome = error
    values = values_of(outcome)
    if isinstance(outcome, Unmeasured):
        reason, about = str(outcome), outcome.about
    elif isinstance(outcome, Missing):
        reason = str(outcome)
    elif isinstance(outcome, CrevalError | OSError):
        status, reason, broken = Status.FAILED, str(outcome), _broken(exhibit)
    elif isinstance(outcome, NoNumber):
        status, reason = Status.FAILED, str(outcome)
    elif isinstance(outcome, Exception):
        status, reason = Status.FAILED, f"the model failed: {outcome!r}"
    verdicts = []
    for probe in work.probes:
        # A value is known by the probe's own name, or by its gauge's where that has only one.
        names = [name for name in (probe.id, probe.metric, probe.gauge) if name in values]
        if names:
            verdicts.append(Verdict(probe.id, Status.ANSWERED, values[names[0]]))
        else:
            why = reason[:_LONGEST]
            verdicts.append(Verdict(probe.id, status, said=about, explanation=why))
    return _Found(verdicts, seen, broken)


def _broken(exhibit: Exhibit) -> str:
    """What is wrong with the edit's own picture."""
    try:
        exhibit.edit.image  # noqa: B018
    except (ImageError, OSError) as error:
        return str(error)
    return ""
