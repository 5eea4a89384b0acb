"""What bounds the asking: slots, pace, money, and the word to stop."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import suppress

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0


def backoff(attempt: int, chance: random.Random) -> float:
    """How long to wait after the n-th failure (from 0): doubling, with jitter."""
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(attempt, 20)) * chance.uniform(0.5, 1.0)


class Limits:
    """Slots for calls to one judge. They are halved when it is crowded, and recover.

    Requests and tokens a minute are kept by spacing the starts of calls.
    """

    def __init__(
        self,
        ceiling: int,
        requests_a_minute: float | None = None,
        tokens_a_minute: float | None = None,
    ) -> None:
        self.ceiling = ceiling
        self.allowed = float(ceiling)
        self.under_way = 0
        self._seconds_a_request = 60.0 / requests_a_minute if requests_a_minute else 0.0
        self._seconds_a_token = 60.0 / tokens_a_minute if tokens_a_minute else 0.0
        self._next = 0.0  # when the next call may begin, by the pace
        self._not_before = 0.0  # and by the server's wish
        self._halved = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def begin(self, tokens: float = 0.0, halt: Halt | None = None) -> float:
        """Take a slot, when there is one and it is time; the moment at which the call begins.

        The word to stop ends the waiting.
        """
        while self.under_way >= max(1, int(self.allowed)):
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self.under_way += 1
        begins = max(time.monotonic(), self._next)
        self._next = begins + max(self._seconds_a_request, self._seconds_a_token * tokens)
        try:
            # While one waits for its turn, the server may ask for more time.
            while (left := max(begins, self._not_before) - time.monotonic()) > 0 and not halt:
                await (halt.sleep(left) if halt is not None else asyncio.sleep(left))
        except asyncio.CancelledError:
            self.end()
            raise
        return max(begins, time.monotonic())

    def end(self) -> None:
        """Give the slot back."""
        self.under_way -= 1
        self._wake()

    def used(self, guessed: float, tokens: float) -> None:
        """A call that was guessed to take so many tokens took others."""
        self._next += self._seconds_a_token * (tokens - guessed)

    def went_well(self) -> None:
        """A call was answered: one more slot for each round of answers, or a tenth more."""
        self.allowed = min(float(self.ceiling), self.allowed + max(1.0 / self.allowed, 0.1))
        self._wake()

    def crowded(self, began: float, wait: float | None) -> None:
        """A call that began then was turned away: half the slots, once for calls of one time."""
        now = time.monotonic()
        if began >= self._halved:
            self.allowed = max(1.0, self.allowed / 2)
            self._halved = now
        if wait is not None:
            self._not_before = max(self._not_before, now + wait)

    def _wake(self) -> None:
        free = max(1, int(self.allowed)) - self.under_way
        while free > 0 and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


class Halt:
    """The word to stop: workers finish what is under way and begin nothing new."""

    def __init__(self) -> None:
        self.reason = ""
        self.error: Exception | None = None
        self._event = asyncio.Event()

    def __bool__(self) -> bool:
        return self._event.is_set()

    def now(self, reason: str, error: Exception | None = None) -> None:
        if not self:
            self.reason, self.error = reason, error
            self._event.set()

    async def came(self) -> None:
        """Wait for the word."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until the word comes."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.came(), seconds)


class Purse:
    """What may still be spent; what calls under way may cost is set aside."""

    def __init__(self, budget: float | None, spent: float) -> None:
        self.budget, self.spent = budget, spent
        self._aside: list[float] = []
        self._settled = asyncio.Event()

    async def take(self, cost: float, halt: Halt) -> bool:
        """Set money aside, if need be when calls under way have cost less; whether there is any."""
        while self.budget is not None and self.spent + sum(self._aside) + cost > self.budget:
            if not self._aside or halt:
                return False
            self._settled.clear()
            await self._settled.wait()
        self._aside.append(cost)
        return True

    def settle(self, taken: float, cost: float) -> None:
        """A call for which so much was set aside has cost so much."""
        self._aside.remove(taken)
        self.spent += cost
        self._settled.set()
