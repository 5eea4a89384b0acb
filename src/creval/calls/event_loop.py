"""Work that runs in an event loop: from anywhere, watched, and ended by an interrupt kindly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from creval.calls.limits import Halt
from creval.calls.retry import Progress
from creval.core.errors import CrevalError

INTERRUPTED = "interrupted"
_LOOKS = 0.2  # seconds between two looks at the progress
Watch = Callable[[Progress], None]
T = TypeVar("T")


def in_a_loop(make: Callable[[], Coroutine[None, None, T]], interrupt: Callable[[], object]) -> T:
    """Run to the end, also from a notebook, whose own loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(lambda: asyncio.run(make()))
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                interrupt()


@contextlib.asynccontextmanager
async def watched(progress: Progress, watch: Watch | None) -> AsyncIterator[None]:
    """The progress is looked at now and then."""
    watching = asyncio.create_task(_watch(progress, watch)) if watch else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()


async def _watch(progress: Progress, watch: Watch) -> None:
    while True:
        watch(progress)
        await asyncio.sleep(_LOOKS)


@contextlib.contextmanager
def interruptible(halt: Halt, progress: Progress) -> Iterator[None]:
    """The first interrupt lets calls under way finish, the second does not."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def interrupted() -> None:
        if halt and task is not None:
            task.cancel()
        progress.stopping = True
        halt.now(INTERRUPTED)

    signals = (signal.SIGINT, signal.SIGTERM)
    handled = []
    if threading.current_thread() is threading.main_thread():
        for number in signals:
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, interrupted)
                handled.append(number)
    try:
        yield
    except asyncio.CancelledError:
        if not halt:
            raise
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def allow_files(wanted: int) -> None:
    """Let this process open as many files and connections as it needs, as far as it may."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < wanted:
        raise CrevalError(
            f"this machine lets a process open {most} files and connections, and --concurrency "
            f"needs {wanted}: lower it, or allow more (ulimit -n)."
        )
