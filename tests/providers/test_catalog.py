"""Tests of the catalog: prices and properties of models by name."""

from __future__ import annotations

import pytest

from creval.judges.base import JudgeOptions
from creval.judges.judge_spec import open_judges
from creval.providers.catalog import guess_thinking_tokens


@pytest.mark.parametrize(
    ("model", "parameters", "tokens"),
    [
        ("gpt-4o", {}, 0),
        ("gpt-5-chat-latest", {}, 0),
        ("gemini-2.5-flash-lite", {}, 0),
        ("claude-sonnet-4-5", {}, 0),
        ("gpt-5-mini", {}, 600),
        ("openai/o3", {}, 600),
        ("gemini-3-pro-preview", {}, 600),
        ("Qwen/Qwen3-VL-235B-A22B-Thinking", {}, 600),
        ("gpt-5", {"reasoning_effort": "low"}, 200),
        ("gpt-5", {"reasoning_effort": "none"}, 0),
        ("gpt-5", {"reasoning_effort": ["?"]}, 600),
        ("my-model", {"reasoning_effort": "high"}, 1500),
    ],
)
def test_tokens_that_a_model_thinks_for(model: str, parameters: dict[str, object], tokens: int) -> None:
    assert guess_thinking_tokens(model, parameters) == tokens


def test_a_judge_that_thinks_is_estimated_to_write_more() -> None:
    options = JudgeOptions(key_optional=True)
    (plain,), (thinking,) = (open_judges(f"openai:{model}", options) for model in ("gpt-4o", "gpt-5"))
    assert (plain.thinking_tokens, thinking.thinking_tokens) == (0, 600)
