"""Long texts are read in a thread, beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

from creval.calls.reading import read_text


def test_a_short_text_is_read_at_once_and_a_long_one_in_a_thread() -> None:
    async def main() -> list[bool]:
        here = threading.get_ident()
        return [await read_text(text, threading.get_ident) == here for text in ("x" * 10_000, "x" * 10_001)]

    assert asyncio.run(main()) == [True, False]


def test_the_event_loop_runs_while_a_long_text_is_read() -> None:
    async def main() -> tuple[float, str]:
        def read() -> str:
            time.sleep(0.3)
            return "read"

        reading = asyncio.create_task(read_text("x" * 20_000, read))
        began = time.monotonic()
        await asyncio.sleep(0.01)
        return time.monotonic() - began, await reading

    waited, found = asyncio.run(main())
    assert waited < 0.25
    assert found == "read"


def test_a_signal_ends_the_waiting_for_a_text() -> None:
    async def main() -> float:
        release = threading.Event()
        reading = asyncio.create_task(read_text("x" * 20_000, release.wait))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        waited = time.monotonic() - began
        release.set()
        return waited

    assert asyncio.run(main()) < 1.0
