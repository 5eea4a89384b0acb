"""Each kind of call has its own settings, and impossible values are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

import pytest

from creval.calls.settings import CallSettings, ChatSettings, JudgeSettings
from creval.core.errors import CrevalError
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions
from creval.providers.pricing import Price


@pytest.mark.parametrize("kind", [CallSettings, ChatSettings, JudgeSettings, EditSettings])
@pytest.mark.parametrize("name", ["concurrency", "attempts"])
def test_every_kind_makes_at_least_one_call(kind: type[CallSettings], name: str) -> None:
    with pytest.raises(CrevalError, match=f"`{name}` must be 1 or more"):
        kind(**{name: 0})


def test_builders_and_editors_have_no_settings_of_judging() -> None:
    judging = {"batch_by", "logprobs", "repeat", "rubric", "stopping_rule", "metrics"}
    assert judging <= {field.name for field in fields(JudgeSettings)}
    assert not judging & {field.name for field in fields(ChatSettings)}
    assert {field.name for field in fields(EditSettings)} == {field.name for field in fields(CallSettings)}


def test_judge_options_contain_the_number_of_repeats() -> None:
    options = JudgeSettings(repeat=3, logprobs=True, batch_by="question", timeout=9).judge_options()
    assert (options.repeat, options.logprobs, options.timeout) == (3, True, 9)
    assert (ChatSettings(timeout=9).judge_options().repeat, ChatSettings().judge_options().logprobs) == (1, False)


@pytest.mark.parametrize(
    ("name", "most"), [("repeat", 1000), ("attempts", 1000), ("concurrency", 4096), ("retries", 100)]
)
def test_absurd_counts_are_refused(name: str, most: int) -> None:
    make: Callable[..., JudgeSettings] = JudgeSettings
    assert getattr(make(**{name: most}), name) == most
    with pytest.raises(CrevalError, match=f"`{name}` must be {most:,} or less, not 1,000,000,000"):
        make(**{name: 10**9})


@pytest.mark.parametrize("given", [math.nan, math.inf, -1.0, 1e300])
def test_absurd_amounts_are_refused(given: float) -> None:
    for make in (
        lambda: CallSettings(budget=given),
        lambda: EditorOptions(price=given),
        lambda: EditorOptions(timeout=given),
        lambda: ChatSettings(timeout=given),
        lambda: Price(given, 1.0),
        lambda: Price(1.0, given),
    ):
        with pytest.raises(CrevalError, match=r"must be (0 or more|more than 0) and at most|must be finite numbers"):
            make()
    for rate in (math.nan, 0.0, -1.0):
        with pytest.raises(CrevalError, match="must be more than 0"):
            ChatSettings(requests_per_minute=rate)
        with pytest.raises(CrevalError, match="must be more than 0"):
            ChatSettings(tokens_per_minute=rate)
