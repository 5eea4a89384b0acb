"""Where gauges look at edits, several at a time: models first, in batches, then each gauge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.core.models import Missing
from creval.gauges.embedding import Embeddings, Wish
from creval.gauges.exhibit import Exhibit, Unmeasured
from creval.gauges.gauge import Gauge

Outcome = Mapping[str, float] | Exception
"""The values of a gauge, or why there are none."""


class Job(NamedTuple):
    """That a gauge look at an edit."""

    gauge: Gauge
    exhibit: Exhibit


def measure_all(jobs: Sequence[Job], embeddings: Embeddings) -> list[Outcome]:
    """What each job brought. An error that concerns more than one picture is raised."""
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
        return job.gauge.measure(job.exhibit, made)  # type: ignore[arg-type]
    except (Unmeasured, Missing, ImageError, OSError) as error:
        return error
    except CrevalError:
        raise
    except Exception as error:  # somebody else's model on one picture
        return error
