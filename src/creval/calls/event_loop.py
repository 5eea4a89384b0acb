"""Work that runs in an event loop: from anywhere, watched, and ended by an interrupt kindly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from creval.calls.limits import StopSignal
from creval.calls.retry import Progress
from creval.core.errors import CrevalError

INTERRUPTED = "interrupted"
_PROGRESS_INTERVAL = 0.2  # seconds between two looks at the progress
ProgressCallback = Callable[[Progress], None]
T = TypeVar("T")


def run_async(make_coroutine: Callable[[], Coroutine[None, None, T]], on_interrupt: Callable[[], object]) -> T:
    """Run to the end, also from a notebook, whose own loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make_coroutine())
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(lambda: asyncio.run(make_coroutine()))
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:
                on_interrupt()


@contextlib.asynccontextmanager
async def report_progress(progress: Progress, watch: ProgressCallback | None) -> AsyncIterator[None]:
    """The progress is looked at now and then."""
    watching = asyncio.create_task(_report_periodically(progress, watch)) if watch else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()


async def _report_periodically(progress: Progress, watch: ProgressCallback) -> None:
    while True:
        watch(progress)
        await asyncio.sleep(_PROGRESS_INTERVAL)


@contextlib.contextmanager
def interruptible(stop_signal: StopSignal, progress: Progress) -> Iterator[None]:
    """The first interrupt lets calls under way finish, the second does not."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def interrupted() -> None:
        if stop_signal and task is not None:
            task.cancel()
        progress.stopping = True
        stop_signal.set(INTERRUPTED)

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
        if not stop_signal:
            raise
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def raise_open_file_limit(needed: int) -> None:
    """Let this process open as many files and connections as it needs, as far as it may."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        raise CrevalError(
            f"this machine lets a process open {most} files and connections, and `concurrency` "
            f"needs {needed}: lower it, or allow more (ulimit -n)."
        )
