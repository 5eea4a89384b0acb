"""Limits of calls: concurrency, rate, budget, stop signal and open files."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import suppress

from creval.core.errors import CrevalError

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0


def backoff(attempt: int, rng: random.Random) -> float:
    """Return the seconds to wait after the n-th failure (from 0): exponential, with jitter."""
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 20)) * rng.uniform(0.5, 1.0)


class ConcurrencyLimiter:
    """Concurrency and rate limit of calls to one model.

    The number of slots is halved when the model is overloaded. Calls are started at intervals that keep the limits of
    requests and tokens per minute.
    """

    def __init__(
        self, max_concurrency: int, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self.max_concurrency = max_concurrency
        self.current_limit = float(max_concurrency)
        self.in_flight = 0
        self._seconds_per_request = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._next_start = 0.0  # earliest start of the next call by the rate limit
        self._paused_until = 0.0  # earliest start that the server asked for
        self._last_halved = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self, tokens: float = 0.0, stop_signal: StopSignal | None = None) -> float:
        """Wait for a slot and the rate limit, or for the stop signal. Return the start time of the call."""
        while self.in_flight >= max(1, int(self.current_limit)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake_waiters()
                raise
        self.in_flight += 1
        start = max(time.monotonic(), self._next_start)
        self._next_start = start + max(self._seconds_per_request, self._seconds_per_token * tokens)
        try:
            # The server may ask for a longer pause while this call waits.
            while (left := max(start, self._paused_until) - time.monotonic()) > 0 and not stop_signal:
                await (stop_signal.sleep(left) if stop_signal is not None else asyncio.sleep(left))
        except asyncio.CancelledError:
            self.release()
            raise
        return max(start, time.monotonic())

    def release(self) -> None:
        """Release the slot of a finished call."""
        self.in_flight -= 1
        self._wake_waiters()

    def correct_tokens(self, estimated: float, actual: float) -> None:
        """Replace a call's estimated tokens with the actual number in the rate limit."""
        self._next_start += self._seconds_per_token * (actual - estimated)

    def record_success(self) -> None:
        """Raise the number of slots after an answer: by about one when all slots have been answered once."""
        self.current_limit = min(float(self.max_concurrency), self.current_limit + max(1.0 / self.current_limit, 0.1))
        self._wake_waiters()

    def record_overload(self, started_at: float, retry_after: float | None) -> None:
        """Halve the slots after an overload. Overloaded calls from before the last halving do not halve them again.

        `retry_after` pauses new calls by that many seconds.
        """
        now = time.monotonic()
        if started_at >= self._last_halved:
            self.current_limit = max(1.0, self.current_limit / 2)
            self._last_halved = now
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + retry_after)

    def _wake_waiters(self) -> None:
        free = max(1, int(self.current_limit)) - self.in_flight
        while free > 0 and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


class StopSignal:
    """Stop signal. In-flight calls finish; no new calls are started."""

    def __init__(self) -> None:
        self.reason = ""
        self.error: Exception | None = None
        self._event = asyncio.Event()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self, reason: str, error: Exception | None = None) -> None:
        if not self:
            self.reason, self.error = reason, error
            self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but wake up when the signal is set."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.wait(), seconds)


class Budget:
    """Remaining budget. Reserves the estimated cost of in-flight calls."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self.limit, self.spent = limit, spent
        self._reserved: list[float] = []
        self._settlement = asyncio.Event()

    async def reserve(self, cost: float, stop_signal: StopSignal) -> bool:
        """Reserve the cost of a call. Return False if the budget does not allow it.

        If other calls are in flight, wait for them first, because they may cost less than estimated.
        """
        while self.limit is not None and self.spent + sum(self._reserved) + cost > self.limit:
            if not self._reserved or stop_signal:
                return False
            self._settlement.clear()
            await self._settlement.wait()
        self._reserved.append(cost)
        return True

    def settle(self, reserved: float, cost: float) -> None:
        """Replace the reserved cost of a call with its actual cost."""
        self._reserved.remove(reserved)
        self.spent += cost
        self._settlement.set()


def raise_open_file_limit(needed: int) -> None:
    """Raise the limit of open files and connections of this process, if the system allows it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        raise CrevalError(
            f"`concurrency` needs {needed} open files and connections, but this machine allows {most} for a process. "
            "Lower it, or raise the limit (ulimit -n)."
        )
