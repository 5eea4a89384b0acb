"""Work for several cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Job = TypeVar("Job")
Done = TypeVar("Done")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_pool() -> ProcessPoolExecutor:
    """A process for each core, started afresh: copies of a process with threads can hang."""
    return ProcessPoolExecutor(cores(), mp_context=get_context("spawn"))


def on_all_cores(work: Callable[[Job], Done], jobs: Iterable[Job]) -> Iterator[Done]:
    """What comes of each job, in their order, as it is done."""
    with process_pool() as pool:
        yield from pool.map(work, jobs, chunksize=4)
