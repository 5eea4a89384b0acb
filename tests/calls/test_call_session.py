"""Sessions end in order: in-flight work finishes, its results are stored, and targets are closed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from creval.calls.call_session import INTERRUPTED, CallSession
from creval.calls.retry import CallStoppedError, Progress
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.verdict import VerdictStatus
from creval.store import RunWriter


class Target:
    """A judge or an editor that records the calls of its methods."""

    def __init__(self, error: Exception | None = None) -> None:
        self.events: list[str] = []
        self._error = error

    async def open(self) -> None:
        self.events.append("open")
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        self.events.append("close")


def test_items_are_worked_on_once_by_so_many_at_a_time(tmp_path: Path) -> None:
    target, done, active, most = Target(), list[int](), 0, 0

    async def work(item: int) -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0)
        active -= 1
        done.append(item)

    with RunWriter(tmp_path) as store:
        session = CallSession(store, Progress())
        stopped = session.run(lambda: session.for_each([target], range(10), work, 3))
    assert (stopped, sorted(done), most, target.events) == ("", list(range(10)), 3, ["open", "close"])


def test_an_error_is_raised_after_what_is_in_flight_is_kept(tmp_path: Path) -> None:
    target, started = Target(), list[int]()
    with RunWriter(tmp_path) as store:
        with store.transaction():
            store.put_edits([Edit(EditKey("M", "0"))])
        session = CallSession(store, Progress())

        async def work(item: int) -> None:
            started.append(item)
            if item == 1:
                raise ValueError("a bug")
            await asyncio.sleep(0.05)
            key = CallKey("j", EditKey("M", str(item)), ("q",))
            await session.journal.append([(key, Reply(VerdictStatus.ANSWERED, "kept"), ())])

        with pytest.raises(ValueError, match="a bug"):
            session.run(lambda: session.for_each([target], range(10), work, 2))
        assert list(store.reply_texts().values()) == ["kept"]
    assert (started, target.events) == ([0, 1], ["open", "close"])


def test_a_target_that_cannot_be_opened_stops_the_session(tmp_path: Path) -> None:
    target = Target(ValueError("no key"))

    async def work(item: int) -> None:
        raise AssertionError(item)

    with RunWriter(tmp_path) as store:
        session = CallSession(store, Progress())
        with pytest.raises(ValueError, match="no key"):
            session.run(lambda: session.for_each([target], range(3), work, 2))
    assert target.events == ["open", "close"]


def test_stopped_nothing_new_is_started(tmp_path: Path) -> None:
    started = []
    with RunWriter(tmp_path) as store:
        session = CallSession(store, Progress())

        async def work(item: int) -> None:
            started.append(item)
            if item == 2:
                session.stop_signal.set(INTERRUPTED)
                raise CallStoppedError

        assert session.run(lambda: session.for_each([], range(9), work, 1)) == INTERRUPTED
    assert started == [0, 1, 2]


def test_a_session_runs_inside_a_running_loop(tmp_path: Path) -> None:
    done = []

    async def work(item: int) -> None:
        done.append(item)

    async def notebook() -> str:
        with RunWriter(tmp_path) as store:
            session = CallSession(store, Progress())
            return session.run(lambda: session.for_each([], [1], work, 1))

    assert (asyncio.run(notebook()), done) == ("", [1])
