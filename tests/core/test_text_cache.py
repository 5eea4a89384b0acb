"""The cache of parsed texts takes bounded memory."""

from __future__ import annotations

import tracemalloc

from creval.core.text_cache import cache_by_text
from creval.parsing.answer_entries import find_json_entries


def test_a_text_is_read_once() -> None:
    calls = []

    @cache_by_text(10_000)
    def read(text: str) -> int:
        calls.append(text)
        return len(text)

    assert [read("one"), read("one"), read("three")] == [3, 3, 5]
    assert calls == ["one", "three"]


def test_a_full_cache_is_emptied_and_a_long_text_is_not_kept() -> None:
    calls = []

    @cache_by_text(10_000)
    def read(text: str) -> str:
        calls.append(text)
        return text

    read("first")
    read("x" * 5_000)
    read("x" * 5_000)
    read("first")
    assert calls == ["first", "x" * 5_000, "x" * 5_000], "a long text is not cached and evicts no other entry"
    for number in range(100):
        read(f"text {number}")
    read("first")
    assert calls[-1] == "first", "the cache was full in between"


def test_replies_with_long_keys_take_bounded_memory() -> None:
    tracemalloc.start()
    for number in range(60):
        keys = ", ".join(f'"{number} {at} {"k" * 900}": 1' for at in range(100))
        find_json_entries(f"{{{keys}}}")
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The keys take 5.4 MB. The three caches involved take at most 16 MB, half of it for keys.
    assert current < 20_000_000
    tracemalloc.start()
    for number in range(30):
        find_json_entries(f'{{"{number} {"k" * 1_000_000}": 1}}')
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert current < 3_000_000
