"""A cache for what is read in texts that others wrote; it is bounded by bytes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K", str, "tuple[str, ...]")
T = TypeVar("T")
_OVERHEAD = 200  # bytes of an entry besides its text


def cache_by_text(max_bytes: int) -> Callable[[Callable[[K], T]], Callable[[K], T]]:
    """Cache a function of a text or of a tuple of texts, in at most about `max_bytes`.

    A result counts as much as its key. A full cache is emptied; a key of more than a sixteenth of it is not kept.
    """

    def decorate(function: Callable[[K], T]) -> Callable[[K], T]:
        kept: dict[K, T] = {}
        used = 0

        @functools.wraps(function)
        def cached(key: K) -> T:
            nonlocal used
            try:
                return kept[key]
            except KeyError:
                result = function(key)
            size = 2 * _byte_size(key) + _OVERHEAD
            if size <= max_bytes // 16:
                if used + size > max_bytes:
                    kept.clear()
                    used = 0
                used += size
                kept[key] = result
            return result

        return cached

    return decorate


def _byte_size(key: str | tuple[str, ...]) -> int:
    return sys.getsizeof(key) + (0 if isinstance(key, str) else sum(map(sys.getsizeof, key)))
