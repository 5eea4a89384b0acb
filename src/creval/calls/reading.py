"""Reading what models wrote while other calls go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SHORT_TEXT = 10_000  # characters of a text that is read at once


async def read_text(text: str, read: Callable[[], T]) -> T:
    """Return what `read` makes of a text: of a long one in a thread, so that the event loop hears a stop signal.

    The time that a text can take is bounded: readers are linear, and of a reply `MAX_REPLY_CHARS` are read.
    """
    return read() if len(text) <= _SHORT_TEXT else await asyncio.to_thread(read)
