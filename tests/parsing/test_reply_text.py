from __future__ import annotations

import pytest

from creval.parsing.reply_text import MAX_REPLY_CHARS, readable_text, strip_thinking


@pytest.mark.parametrize(
    ("reply", "rest"),
    [
        ("Yes", "Yes"),
        ("<think>a</think>Yes", "Yes"),
        ("<thinking>a</thinking>\nYes", "\nYes"),
        ("a</think>Yes", "Yes"),
        ("Yes<think>a", "Yes"),
        ("a<think>b</think>c<think>d</think>e", "ace"),
        ("a</think>b</think>Yes", "Yes"),
        ('<think>{"a": 1}</think>Yes', "Yes"),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ('{"a": "<think>"} b', '{"a": "<think>"} b'),
        ('a</think>{"a": "</think>"}', '{"a": "</think>"}'),
        ("a { b</think>Yes", "Yes"),
        ("I think so", "I think so"),
    ],
)
def test_thoughts_are_removed_except_inside_json(reply: str, rest: str) -> None:
    assert strip_thinking(reply) == rest


def test_a_long_reply_is_cut() -> None:
    assert readable_text("x" * MAX_REPLY_CHARS + "y") == "x" * MAX_REPLY_CHARS
