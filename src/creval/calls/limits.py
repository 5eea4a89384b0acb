"""Limits of calls: slots, pace, budget, stop signal, open files."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import suppress

from creval.core.errors import CrevalError

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0


def backoff(attempt: int, rng: random.Random) -> float:
    """How long to wait after the n-th failure (from 0): doubling, with jitter."""
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 20)) * rng.uniform(0.5, 1.0)


class ConcurrencyLimiter:
    """Slots for calls to one model, halved when it is overloaded; starts are spaced to keep rates per minute."""

    def __init__(
        self, max_concurrency: int, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self.max_concurrency = max_concurrency
        self.current_limit = float(max_concurrency)
        self.in_flight = 0
        self._seconds_per_request = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_per_token = 60.0 / tokens_per_minute if tokens_per_minute else 0.0
        self._next_start = 0.0  # when the next call may begin, by the pace
        self._paused_until = 0.0  # and by the server's wish
        self._last_halved = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self, tokens: float = 0.0, stop_signal: StopSignal | None = None) -> float:
        """Wait for a slot and for its time, or for the signal to stop; return when the call begins."""
        while self.in_flight >= max(1, int(self.current_limit)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake_waiters()
                raise
        self.in_flight += 1
        begins = max(time.monotonic(), self._next_start)
        self._next_start = begins + max(self._seconds_per_request, self._seconds_per_token * tokens)
        try:
            # While one waits for its turn, the server may ask for more time.
            while (left := max(begins, self._paused_until) - time.monotonic()) > 0 and not stop_signal:
                await (stop_signal.sleep(left) if stop_signal is not None else asyncio.sleep(left))
        except asyncio.CancelledError:
            self.release()
            raise
        return max(begins, time.monotonic())

    def release(self) -> None:
        """Give the slot back."""
        self.in_flight -= 1
        self._wake_waiters()

    def correct_tokens(self, estimated: float, actual: float) -> None:
        """A call that was guessed to take so many tokens took others."""
        self._next_start += self._seconds_per_token * (actual - estimated)

    def record_success(self) -> None:
        """A call was answered: one more slot for each round of answers, or a tenth more."""
        self.current_limit = min(float(self.max_concurrency), self.current_limit + max(1.0 / self.current_limit, 0.1))
        self._wake_waiters()

    def record_overload(self, started_at: float, retry_after: float | None) -> None:
        """A call that began then was turned away: half the slots, once for calls of one time."""
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
    """The signal to stop: workers finish what is under way and begin nothing new."""

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
        """Sleep, but no longer than until the signal comes."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.wait(), seconds)


class Budget:
    """What may still be spent; what calls under way may cost is set aside."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self.limit, self.spent = limit, spent
        self._reserved: list[float] = []
        self._settlement = asyncio.Event()

    async def reserve(self, cost: float, stop_signal: StopSignal) -> bool:
        """Set money aside, if need be when calls under way have cost less; whether there is any."""
        while self.limit is not None and self.spent + sum(self._reserved) + cost > self.limit:
            if not self._reserved or stop_signal:
                return False
            self._settlement.clear()
            await self._settlement.wait()
        self._reserved.append(cost)
        return True

    def settle(self, reserved: float, cost: float) -> None:
        """A call for which so much was set aside has cost so much."""
        self._reserved.remove(reserved)
        self.spent += cost
        self._settlement.set()


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
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < needed:
        raise CrevalError(
            f"this machine lets a process open {most} files and connections, and `concurrency` "
            f"needs {needed}: lower it, or allow more (ulimit -n)."
        )
