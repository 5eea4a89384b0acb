"""What holds for the whole process while any of its threads is inside."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from creval.core.errors import CrevalError


class SharedContext:
    """A context of the whole process: `factory` makes the one that the first thread enters and the last one leaves."""

    def __init__(self, factory: Callable[[], contextlib.AbstractContextManager[object]]) -> None:
        self._factory = factory
        self._lock, self._active_count = threading.Lock(), 0
        self._exit_stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._active_count == 0:
                self._exit_stack.enter_context(self._factory())
            self._active_count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._active_count -= 1
            if self._active_count == 0:
                self._exit_stack.close()


stdout_to_stderr = SharedContext(lambda: contextlib.redirect_stdout(sys.stderr))
"""Sends what libraries print to standard error: standard output is for results."""


_PARENT_CHECK_SECONDS = 2.0  # seconds between looks at whether anybody still waits
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def usable_cpu_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spawn_process_pool(count: int) -> ProcessPoolExecutor:
    """Start so many fresh processes, since copies of one with threads can hang; they ignore interrupts."""
    return ProcessPoolExecutor(count, get_context("spawn"), _init_worker, (os.getpid(),))


def _init_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """End when the process that started this one was killed: nobody else would tell."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(1)


def parallel_map(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """Yield what comes of each job, in their order, as it is done."""
    pool = spawn_process_pool(usable_cpu_count())
    try:
        yield from pool.map(function, items, chunksize=4)
    except BrokenProcessPool as error:
        raise CrevalError(
            "a process that did a part of the work has ended; perhaps there was too little memory. Repeat the command."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
