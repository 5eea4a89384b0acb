"""Measuring edits, beside the asking: every value kept as an answer is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from creval.core.errors import CrevalError
from creval.core.images import ImageError, digest
from creval.core.probe import Ask, Measurement
from creval.core.sample import Edit, EditStatus, Sample, Stamp
from creval.core.verdict import Reply, Status, Verdict
from creval.engine.call import paths_of
from creval.engine.caller import Progress
from creval.engine.edits import stamp_of
from creval.engine.ledger import Ledger
from creval.engine.limits import Halt
from creval.engine.plan import Answered, Plan
from creval.gauges.gauge import Gauge, Unmeasured
from creval.store.run import VOICE

_LONGEST = 300  # characters of a reason


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
    """What is not measured yet; `done` is by the gauges' voices."""
    for sample in plan.samples:
        by_gauge: dict[str, list[Measurement]] = {}
        for probe in plan.measurements[sample.id]:
            by_gauge.setdefault(probe.gauge, []).append(probe)
        for name, probes in by_gauge.items():
            gauge = gauges[name]
            held = done.get(voice(gauge), {})
            for edit in plan.edits[sample.id]:
                there = held.get(edit.key, set())
                open_ = tuple(probe for probe in probes if (0, probe.id) not in there)
                if open_ and edit.status is EditStatus.DONE:
                    yield Work(gauge, sample, edit, open_)


async def measure(
    works: Sequence[Work], *, threads: int, ledger: Ledger, progress: Progress, halt: Halt
) -> None:
    """Measure until all is measured, or the word to stop comes."""
    loop = asyncio.get_running_loop()
    left = iter(works)

    async def keep(pool: ThreadPoolExecutor) -> None:
        while not halt and (work := next(left, None)) is not None:
            try:
                found = await loop.run_in_executor(pool, _measured, work)
                ledger.note(work.edit, found.seen, found.broken)
                verdicts, key = found.verdicts, work.edit.key
                ask = Ask(voice(work.gauge), key, tuple(probe.id for probe in work.probes))
                whole = all(verdict.status is Status.ANSWERED for verdict in verdicts)
                status = Status.ANSWERED if whole else verdicts[0].status
                await ledger.put([(ask, Reply(status, origin=work.gauge.name), verdicts)])
            except Exception as error:  # whatever it is, others finish and keep their answers
                halt.now("error", error)
            progress.measured += 1

    with ThreadPoolExecutor(threads, thread_name_prefix="creval-gauges") as pool:
        await asyncio.gather(*(keep(pool) for _ in range(min(threads, len(works)))))


class _Found(NamedTuple):
    """What came of measuring an edit: verdicts, the pictures that were looked at, and what is wrong
    with the edit's own, if anything is."""

    verdicts: list[Verdict]
    seen: Mapping[str, Stamp]
    broken: str


def _measured(work: Work) -> _Found:
    sample, edit = work.sample, work.edit
    seen: dict[str, Stamp] = {}
    values: Mapping[str, float] = {}
    status, reason, about, broken = Status.INAPPLICABLE, "there is nothing to measure", "", ""
    try:
        for name in ("source", "edit"):
            for path in paths_of(sample, edit, name):
                seen[name] = stamp_of(path, digest(path))
        if edit.image is None:
            raise Unmeasured("there is no picture")
        values = work.gauge.measure(sample, edit.image)
    except Unmeasured as error:
        reason, about = str(error), error.about
    except (ImageError, OSError) as error:
        status, reason, broken = Status.FAILED, str(error), str(error)
    except CrevalError:
        raise  # it is not about this picture
    except Exception as error:  # somebody else's model on one picture
        status, reason = Status.FAILED, f"the model failed: {error!r}"
    verdicts = [
        Verdict(probe.id, Status.ANSWERED, values[probe.id])
        if probe.id in values
        else Verdict(probe.id, status, said=about, explanation=reason[:_LONGEST])
        for probe in work.probes
    ]
    return _Found(verdicts, seen, broken)
