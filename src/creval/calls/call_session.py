"""Sessions of calls to models: judging, editing and text generation run on them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from creval.calls.event_loop import INTERRUPTED, ProgressCallback, interruptible, report_progress, run_async
from creval.calls.journal import CallJournal
from creval.calls.limits import Budget, StopSignal
from creval.calls.retry import CallStoppedError, Progress
from creval.core.errors import CrevalError
from creval.store import RunWriter

T = TypeVar("T")


class CallTarget(Protocol):
    """A judge or an editor: opened before the first call, closed after the last."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class CallSession:
    """Calls that share a store, a budget, a stop signal and a progress.

    `budget` is in US dollars for all that the store holds. `threads` is the size of `pool`, the
    thread pool for images.
    """

    def __init__(self, store: RunWriter, progress: Progress, budget: float | None = None) -> None:
        self.progress = progress
        self.stop_signal = StopSignal()
        self.journal = CallJournal(store)
        self.budget = Budget(budget, store.total_cost)
        self.threads = min(8, os.cpu_count() or 1)
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="creval-images")
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Callable[[], Awaitable[None]], watch: ProgressCallback | None = None) -> str:
        """Run `work` to its end, and close the session. Return why it stopped early, or "".

        The error that stopped it is raised after in-flight calls have ended and are kept.
        """
        run_async(lambda: self._run(work, watch), self._interrupt)
        if self.stop_signal.error is not None:
            raise self.stop_signal.error
        return self.stop_signal.reason

    async def _run(self, work: Callable[[], Awaitable[None]], watch: ProgressCallback | None) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            async with report_progress(self.progress, watch):
                with interruptible(self.stop_signal, self.progress):
                    await work()
        except Exception as error:
            self.stop_signal.set("error", error)
        finally:
            with contextlib.suppress(CrevalError):
                await self.journal.close()
            self.pool.shutdown()

    def _interrupt(self) -> None:
        """Stop the session from another thread than its own."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.stop_signal.set, INTERRUPTED)

    async def fan_out(
        self,
        targets: Sequence[CallTarget],
        take: Callable[[], Awaitable[T | None]],
        work: Callable[[T], Awaitable[None]],
        concurrency: int,
    ) -> None:
        """Open the targets, and work on what `take` returns until that is None, with `concurrency`
        workers. An error stops the session: in-flight work finishes, nothing new is started."""

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
        """Work on each of the items, as `fan_out` does."""
        remaining = iter(items)

        async def take() -> T | None:
            return next(remaining, None)

        await self.fan_out(targets, take, work, concurrency)
