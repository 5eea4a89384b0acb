"""Concurrency, rate limits and budgets."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from creval.calls.limits import Budget, ConcurrencyLimiter, StopSignal, backoff


def test_no_more_calls_than_slots_are_in_flight() -> None:
    async def run() -> int:
        limits, most = ConcurrencyLimiter(3), 0

        async def call() -> None:
            nonlocal most
            await limits.acquire()
            most = max(most, limits.in_flight)
            await asyncio.sleep(0.001)
            limits.release()

        await asyncio.gather(*(call() for _ in range(20)))
        assert limits.in_flight == 0
        return most

    assert asyncio.run(run()) == 3


def test_slots_are_halved_once_for_calls_of_one_time_and_recover() -> None:
    limits = ConcurrencyLimiter(32)
    began = time.monotonic()
    limits.record_overload(began, None)
    limits.record_overload(began, None)
    assert limits.current_limit == 16, "both were started before the first overload"
    for _ in range(8):
        limits.record_overload(time.monotonic(), None)
    assert limits.current_limit == 1
    rounds = 0
    while limits.current_limit < 32 and rounds < 60:
        rounds += 1
        for _ in range(int(limits.current_limit)):
            limits.record_success()
    assert 10 < rounds < 40
    limits.record_success()
    assert limits.current_limit == 32, "never above the maximum"


def test_waiting_calls_start_when_slots_recover() -> None:
    async def run() -> None:
        limits = ConcurrencyLimiter(4)
        for _ in range(3):
            limits.record_overload(time.monotonic(), None)
        await limits.acquire()
        waiting = asyncio.create_task(limits.acquire())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        second = asyncio.create_task(limits.acquire())
        await asyncio.sleep(0)
        limits.release()
        await asyncio.wait_for(second, 1)

    asyncio.run(run())


def test_a_recovered_limit_starts_as_many_calls_as_it_allows() -> None:
    async def run() -> None:
        limits = ConcurrencyLimiter(4)
        for _ in range(3):
            limits.record_overload(time.monotonic(), None)
        waiting = [asyncio.create_task(limits.acquire()) for _ in range(6)]
        await asyncio.sleep(0.01)
        assert limits.in_flight == 1
        while limits.current_limit < 4:
            limits.record_success()
        await asyncio.sleep(0.01)
        assert limits.in_flight == 4, "without waiting for the end of a call"
        for task in waiting:
            task.cancel()

    asyncio.run(run())


def test_calls_start_in_the_order_of_their_requests() -> None:
    async def run() -> list[int]:
        limits, began = ConcurrencyLimiter(1), list[int]()

        async def call(number: int) -> None:
            await limits.acquire()
            began.append(number)
            await asyncio.sleep(0)
            limits.release()

        await asyncio.gather(*map(call, range(8)))
        return began

    assert asyncio.run(run()) == [*range(8)]


@pytest.mark.parametrize(
    ("limits", "tokens"), [(ConcurrencyLimiter(8, 1200), 0.0), (ConcurrencyLimiter(8, None, 60_000), 50.0)]
)
def test_requests_and_tokens_a_minute(limits: ConcurrencyLimiter, tokens: float) -> None:
    async def run() -> list[float]:
        return [await limits.acquire(tokens) for _ in range(5)]

    began = asyncio.run(run())
    assert all(later - began[0] > 0.05 * n - 0.001 for n, later in enumerate(began))
    assert began[-1] - began[0] < 2


def test_a_server_that_asks_us_to_wait_is_left_alone() -> None:
    async def run() -> float:
        limits, start = ConcurrencyLimiter(8), time.monotonic()
        limits.record_overload(start, 0.2)
        return await limits.acquire() - start

    assert asyncio.run(run()) == pytest.approx(0.2, abs=0.05)


def test_the_stop_signal_ends_waiting_for_a_slot() -> None:
    async def run() -> float:
        limits, halt, start = ConcurrencyLimiter(8, 1.0), StopSignal(), time.monotonic()
        await limits.acquire(0.0, halt)
        asyncio.get_running_loop().call_later(0.05, halt.set, "interrupted")
        await limits.acquire(0.0, halt)
        return time.monotonic() - start

    assert asyncio.run(run()) < 2, "without the signal, the second call would start in a minute"


def test_tokens_that_were_guessed_wrong_are_made_up_for() -> None:
    async def run() -> list[float]:
        limits = ConcurrencyLimiter(8, None, 60_000)
        first = await limits.acquire(10.0)
        limits.correct_tokens(10.0, 210.0)
        return [first, await limits.acquire(10.0)]

    first, second = asyncio.run(run())
    assert second - first > 0.2


def test_waits_double_with_jitter_up_to_a_limit() -> None:
    chance = random.Random(0)
    for attempt, longest in ((0, 0.25), (1, 0.5), (4, 4.0), (50, 30.0)):
        waits = [backoff(attempt, chance) for _ in range(200)]
        assert longest / 2 <= min(waits) < max(waits) <= longest
        assert max(waits) - min(waits) > longest / 4


def test_the_budget_reserves_the_cost_of_in_flight_calls() -> None:
    async def run() -> None:
        purse, halt = Budget(1.0, spent=0.5), StopSignal()
        assert await purse.reserve(0.3, halt)
        second = asyncio.create_task(purse.reserve(0.3, halt))
        await asyncio.sleep(0.01)
        assert not second.done(), "0.5 spent and 0.3 in flight leave 0.2, perhaps more"
        purse.settle(0.3, 0.1)
        assert await second
        purse.settle(0.3, 0.3)
        assert not await purse.reserve(0.3, halt), "0.9 is spent"
        assert await Budget(None, 100.0).reserve(1e9, halt)

    asyncio.run(run())


def test_the_stop_signal_ends_a_sleep() -> None:
    async def run() -> float:
        halt, start = StopSignal(), time.monotonic()
        asyncio.get_running_loop().call_later(0.05, halt.set, "interrupted")
        await halt.sleep(10)
        halt.set("budget")
        assert (bool(halt), halt.reason) == (True, "interrupted"), "the first reason counts"
        return time.monotonic() - start

    assert asyncio.run(run()) < 1
