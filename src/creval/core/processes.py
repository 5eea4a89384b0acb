"""Work for several cores."""

from __future__ import annotations

import os
import signal
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


def process_pool(count: int) -> ProcessPoolExecutor:
    """So many processes, started afresh: copies of a process with threads can hang.

    An interrupt is for the one that started them.
    """
    return ProcessPoolExecutor(
        count, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )


def on_all_cores(work: Callable[[Job], Done], jobs: Iterable[Job]) -> Iterator[Done]:
    """What comes of each job, in their order, as it is done."""
    pool = process_pool(cores())
    try:
        yield from pool.map(work, jobs, chunksize=4)
    finally:
        pool.shutdown(cancel_futures=True)
