"""Settings of calls to models and of judging."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from creval.core.errors import CrevalError, require_amount, require_count, require_known
from creval.core.redaction import hide_settings
from creval.judges.base import Judge, JudgeOptions
from creval.metrics.base import model_slots
from creval.providers.pricing import MAX_DOLLARS, Price

if TYPE_CHECKING:
    from creval.stats.elimination import StoppingRule

BATCH_MODES = ("question", "metric", "sample")
"""Questions of one call: one question, all questions of a metric, or all questions about an edit."""
_MAX_SECONDS = 86400.0
_COUNT_BOUNDS = {"concurrency": (1, 4096), "attempts": (1, 1000), "retries": (0, 100), "repeat": (1, 1000)}


@dataclass(frozen=True)
class CallSettings:
    """Settings of all calls: concurrency, rate limits, attempts per call, and the folder's budget in US dollars."""

    concurrency: int = 32
    attempts: int = 12
    requests_per_minute: float | None = None
    budget: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in _COUNT_BOUNDS.items():
            require_count(name, getattr(self, name, low), low, high)
        require_amount("budget", self.budget, MAX_DOLLARS)
        for name in ("requests_per_minute", "tokens_per_minute"):
            require_amount(name, getattr(self, name, None), above_zero=True)

    def estimate_seconds(self, calls: int, seconds_per_call: float) -> float:
        """Return the estimated seconds for a number of calls."""
        rate = self.requests_per_minute or math.inf
        return max(calls * seconds_per_call / self.concurrency, 60 * calls / rate)


@dataclass(frozen=True)
class ChatSettings(CallSettings):
    """Settings of calls to models that answer with text: judges, writers, planners.

    - `retries`: how often a call with an unusable answer is repeated.
    - `metric_models`: the models that metrics use, by use (such as `clip`).
    """

    image_fit: str = "provider"
    temperature: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prompts: str | None = None
    metric_models: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    retries: int = 2
    timeout: float = 300.0
    tokens_per_minute: float | None = None
    price: Price | None = None
    key_env: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.metric_models:
            require_known("use of a model", name, model_slots())
        taken = {"model", "messages", "n", "stream", "response_format", "logprobs", "top_logprobs"}
        for name in sorted(taken & self.parameters.keys()):
            raise CrevalError(f"`parameters` {name}: creval sets this parameter itself.")
        if "temperature" in self.parameters:
            raise CrevalError("give the temperature as `temperature`, not in `parameters`.")
        try:
            json.dumps([dict(self.parameters), self.temperature, self.timeout], allow_nan=False)
        except ValueError as error:
            raise CrevalError("`parameters`, `temperature` and `timeout` must be finite numbers.") from error
        require_amount("timeout", self.timeout, _MAX_SECONDS, above_zero=True)

    def judge_options(self) -> JudgeOptions:
        return JudgeOptions(
            temperature=self.temperature,
            parameters=self.parameters,
            timeout=self.timeout,
            concurrency=self.concurrency,
            price=self.price,
            key_env=self.key_env,
        )

    def check_prices(self, judges: Iterable[Judge]) -> None:
        """Raise `CrevalError` if there is a budget and the price of a judge is unknown."""
        for judge in judges if self.budget is not None else ():
            if judge.price is None:
                raise CrevalError(
                    f"`budget` needs the price of {judge.name}. Add `price` IN,OUT in US dollars per million tokens."
                )


@dataclass(frozen=True)
class JudgeSettings(ChatSettings):
    """Settings of a judging run. Those that affect answers (`answer_affecting`) are fixed for a run.

    - `cache`: reuse answers of other runs, and let other runs reuse the answers of this one.
    - `reasoning`: whether judges reason before they answer. None uses the default of each question.
    - `stopping_rule`: rule of early stopping.
    - `keep_old`: if a custom judge or metric has changed, keep the answers of its older version.
    - `redo`: if a custom judge or metric has changed, discard its answers and ask or measure again.
    """

    batch_by: str = "metric"
    show_instruction: bool = False
    logprobs: bool = False
    reasoning: bool | None = None
    rubric: bool = True
    repeat: int = 1
    metrics: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    stopping_rule: StoppingRule | None = None
    keep_old: bool = False
    redo: bool = False
    cache: bool = True

    def __post_init__(self) -> None:
        require_known("batch mode", self.batch_by, BATCH_MODES)
        super().__post_init__()
        if self.logprobs and self.batch_by != "question":
            raise CrevalError("`logprobs` needs one question per call: add `batch_by` question.")

    def judge_options(self) -> JudgeOptions:
        return replace(super().judge_options(), logprobs=self.logprobs, repeat=self.repeat)

    def answer_affecting(self) -> dict[str, Any]:
        """Return the settings that affect answers, besides judge, question and images."""
        return {
            "ask": self.batch_by,
            "image_fit": self.image_fit,
            "show_instruction": self.show_instruction,
            "logprobs": self.logprobs,
            "reasoning": self.reasoning,
            "no_rubric": None if self.rubric else True,
            "temperature": 0.0 if self.repeat == 1 else 1.0,
            **({} if self.temperature is None else {"temperature": self.temperature}),
            "parameters": hide_settings(self.parameters),
        }


Settings = JudgeSettings
