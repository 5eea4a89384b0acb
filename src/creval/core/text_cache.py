"""A cache of parsed texts, bounded by bytes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K", str, "tuple[str, ...]")
T = TypeVar("T")
_OVERHEAD = 200  # bytes per entry in addition to the text


def cache_by_text(max_bytes: int) -> Callable[[Callable[[K], T]], Callable[[K], T]]:
    """Cache the results of a function of a text or of a tuple of texts, in at most about `max_bytes`.

    A result is assumed to be as large as its text. When the cache is full, it is cleared. A text larger than a
    sixteenth of the cache is not stored.
    """

    def decorate(function: Callable[[K], T]) -> Callable[[K], T]:
        entries: dict[K, T] = {}
        used = 0

        @functools.wraps(function)
        def cached(key: K) -> T:
            nonlocal used
            try:
                return entries[key]
            except KeyError:
                result = function(key)
            size = 2 * _byte_size(key) + _OVERHEAD
            if size <= max_bytes // 16:
                if used + size > max_bytes:
                    entries.clear()
                    used = 0
                used += size
                entries[key] = result
            return result

        return cached

    return decorate


def _byte_size(key: str | tuple[str, ...]) -> int:
    return sys.getsizeof(key) + (0 if isinstance(key, str) else sum(map(sys.getsizeof, key)))
