"""Sessions of calls to models. Judging, editing and text generation use them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from creval.calls.journal import CallJournal
from creval.calls.limits import Budget, StopSignal
from creval.calls.retry import CallStoppedError, Progress, ProgressCallback
from creval.core.errors import CrevalError
from creval.store import RunWriter
from creval.store.answer_cache import AnswerCache

INTERRUPTED = "interrupted"
_PROGRESS_INTERVAL = 0.2  # seconds between two reports of the progress
T = TypeVar("T")


class CallTarget(Protocol):
    """Receiver of calls: a judge or an editor. It is opened before the first call and closed after the last."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class CallSession:
    """Session of calls with a common store, budget in US dollars, stop signal, progress and thread pool for images."""

    def __init__(
        self, store: RunWriter, progress: Progress, budget: float | None = None, answer_cache: AnswerCache | None = None
    ) -> None:
        self.progress = progress
        self.stop_signal = StopSignal()
        self.answer_cache = answer_cache
        self.journal = CallJournal(store, answer_cache)
        self.budget = Budget(budget, store.total_cost)
        self.threads = min(8, os.cpu_count() or 1)
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="creval-images")
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Callable[[], Awaitable[None]], watch: ProgressCallback | None = None) -> str:
        """Run `work` and close the session. Return the reason of an early stop, or "".

        An error that stops the session is raised after in-flight calls have finished and are stored.
        """
        coroutine = self._run(work, watch)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(coroutine)
        else:
            self._run_in_thread(coroutine)
        if self.stop_signal.error is not None:
            raise self.stop_signal.error
        return self.stop_signal.reason

    def _run_in_thread(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine in another thread.

        A notebook needs this, because an event loop already runs in its thread.
        """
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(asyncio.run, coroutine)
            while True:
                try:
                    return running.result()
                except KeyboardInterrupt:
                    if self._loop is not None:
                        self._loop.call_soon_threadsafe(self.stop_signal.set, INTERRUPTED)

    async def _run(self, work: Callable[[], Awaitable[None]], watch: ProgressCallback | None) -> None:
        self._loop = asyncio.get_running_loop()
        watching = asyncio.create_task(self._report_progress(watch)) if watch else None
        try:
            with self._interruptible():
                await work()
        except Exception as error:
            self.stop_signal.set("error", error)
        finally:
            if watching is not None:
                watching.cancel()
            with contextlib.suppress(CrevalError):
                await self.journal.close()
            self.pool.shutdown()

    async def _report_progress(self, watch: ProgressCallback) -> None:
        while True:
            watch(self.progress)
            await asyncio.sleep(_PROGRESS_INTERVAL)

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Handle interrupts: the first lets in-flight calls finish, the second cancels them."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def interrupt() -> None:
            if self.stop_signal and task is not None:
                task.cancel()
            self.progress.stopping = True
            self.stop_signal.set(INTERRUPTED)

        handled = []
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):  # Windows
                    loop.add_signal_handler(number, interrupt)
                    handled.append(number)
        try:
            yield
        except asyncio.CancelledError:
            if not self.stop_signal:
                raise
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    async def fan_out(
        self,
        targets: Sequence[CallTarget],
        take: Callable[[], Awaitable[T | None]],
        work: Callable[[T], Awaitable[None]],
        concurrency: int,
    ) -> None:
        """Open the targets. Let `concurrency` workers process items from `take`, until it returns None.

        After an error, in-flight items finish and no new ones are started.
        """

        async def worker() -> None:
            while not self.stop_signal:
                try:
                    item = await take()
                    if item is None:
                        return
                    await work(item)
                except CallStoppedError:
                    return
                except Exception as error:
                    self.stop_signal.set("error", error)

        workers: list[asyncio.Task[None]] = []
        try:
            for target in targets:
                await target.open()
            workers += [asyncio.create_task(worker()) for _ in range(concurrency)]
            await asyncio.gather(*workers)
        except Exception as error:
            self.stop_signal.set("error", error)
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            for target in targets:
                await target.close()

    async def for_each(
        self, targets: Sequence[CallTarget], items: Iterable[T], work: Callable[[T], Awaitable[None]], concurrency: int
    ) -> None:
        """Process each of the items, like `fan_out`."""
        remaining = iter(items)

        async def take() -> T | None:
            return next(remaining, None)

        await self.fan_out(targets, take, work, concurrency)
