"""Where gauges look at edits, several at a time: models first, in batches, then each gauge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import NamedTuple

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.metrics.base import Gauge
from creval.metrics.embeddings import Embeddings, Wish
from creval.metrics.inputs import PIXELS, Exhibit, NoNumber, Unmeasured
from creval.providers.huggingface import Missing

Outcome = Mapping[str, float] | Exception
"""The values of a gauge, or why there are none."""


def values_of(outcome: Outcome) -> Mapping[str, float]:
    """What was measured, though it be only a part."""
    if isinstance(outcome, Unmeasured):
        return outcome.values
    return {} if isinstance(outcome, Exception) else outcome


class Job(NamedTuple):
    """That a gauge look at an edit."""

    gauge: Gauge
    exhibit: Exhibit


def measure_all(jobs: Sequence[Job], embeddings: Embeddings) -> list[Outcome]:
    """What each job brought. An error that concerns more than one picture is raised.

    The pictures of a job are decoded once by all who look at them.
    """
    found: list[Outcome] = []
    for some in _together(jobs):
        with ExitStack() as until:
            for shelf in {id(job.exhibit.shelf): job.exhibit.shelf for job in some}.values():
                until.enter_context(shelf.holding())
            found += _measure(some, embeddings)
    return found


def _together(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """The jobs in their order: where models look too, as many edits at a time as their pictures
    leave room for, and else one."""
    some: list[Job] = []
    there: dict[str, int] = {}
    models = any(type(job.gauge).wants is not Gauge.wants for job in jobs)
    for _, on_one in groupby(jobs, lambda job: (job.exhibit.path, id(job.exhibit.sample))):
        new = list(on_one)
        if not models:
            yield new
            continue
        pixels = new[0].exhibit.pixels()
        more = there | pixels
        if some and len(more) > len(there) and sum(more.values()) > PIXELS:
            yield some
            some, more = [], pixels
        some += new
        there = more
    if some:
        yield some


def _measure(jobs: Sequence[Job], embeddings: Embeddings) -> list[Outcome]:
    wants: list[Sequence[Wish] | Exception] = [_wants(job) for job in jobs]
    wishes = [wish for some in wants if not isinstance(some, Exception) for wish in some]
    granted = embeddings.grant(wishes)
    found: list[Outcome] = []
    for job, some in zip(jobs, wants, strict=True):
        if isinstance(some, Exception):
            found.append(some)
            continue
        made = [granted[wish.embedder.name, wish.key] for wish in some]
        failed = next((one for one in made if isinstance(one, Exception)), None)
        found.append(failed or _measured(job, [m for m in made if not isinstance(m, Exception)]))
    return found


def _wants(job: Job) -> Sequence[Wish] | Exception:
    try:
        wishes = job.gauge.wants(job.exhibit)
        for wish in wishes:
            wish.key  # noqa: B018 (what cannot be read is found here)
        return wishes
    except (Unmeasured, Missing, ImageError, OSError) as error:
        return error


def _measured(job: Job, made: Sequence[object]) -> Outcome:
    try:
        found = job.gauge.measure(job.exhibit, made)  # type: ignore[arg-type]
        return found if all(map(math.isfinite, found.values())) else NoNumber()
    except (Unmeasured, Missing, ImageError, OSError) as error:
        return error
    except CrevalError:
        raise
    except Exception as error:  # somebody else's model on one picture
        return error


TOGETHER = 8
