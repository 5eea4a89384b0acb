"""Process-wide contexts that threads share, and process pools."""

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
    """A context that all threads share.

    The first thread to use it enters the context from `factory`; the last exits it.
    """

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
"""Redirects the output of libraries to standard error, because standard output is for results."""


_PARENT_CHECK_SECONDS = 2.0  # between checks that the parent process is alive
_MIN_ITEMS_FOR_POOL = 16  # for fewer items, the start of the processes takes longer than they save
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def usable_cpu_count() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spawn_process_pool(count: int) -> ProcessPoolExecutor:
    """Start a pool of `count` spawned processes that ignore interrupts.

    They are not forked, because a forked copy of a process with threads can hang.
    """
    return ProcessPoolExecutor(count, get_context("spawn"), _init_worker, (os.getpid(),))


def _init_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """Exit this worker process when its parent has ended. A parent that is killed cannot stop its workers."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(1)


def parallel_map(function: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """Yield `function(item)` for each item in order, computed in several processes if there are many items."""
    items = list(items)
    if len(items) < _MIN_ITEMS_FOR_POOL:
        yield from map(function, items)
        return
    pool = spawn_process_pool(usable_cpu_count())
    try:
        yield from pool.map(function, items, chunksize=4)
    except BrokenProcessPool as error:
        raise CrevalError(
            "a worker process ended unexpectedly, perhaps because memory ran out. Run the command again."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
