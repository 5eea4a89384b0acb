"""Parsing of replies without blocking the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SHORT_TEXT = 10_000  # characters; shorter texts are parsed without a thread


async def read_text(text: str, read: Callable[[], T]) -> T:
    """Return the result of `read` for a text. A long text is read in a thread, so that stop signals are handled.

    The time is bounded: parsers are linear, and at most `MAX_REPLY_CHARS` characters of a reply are parsed.
    """
    return read() if len(text) <= _SHORT_TEXT else await asyncio.to_thread(read)
