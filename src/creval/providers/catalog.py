"""Known providers of the OpenAI chat API, their features, and list prices of models.

Prices are in US dollars per million input and output tokens, as published in autumn 2026. `--price`
overrides them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from creval.core.rehearsal import has_rehearsal
from creval.providers.pricing import Price


@dataclass(frozen=True)
class ChatProvider:
    """A provider's address, the environment variable of its API key, and its features.

    A feature marked as supported is requested until the server refuses it once. `max_reply_tokens` limits the tokens of
    a reply. It is set if the provider would otherwise reserve credit for the longest possible reply. `is_rehearsal`:
    the provider is creval's `fake-server`, whose marked replies are not real answers.
    """

    name: str
    url: str
    key_env: str
    supports_schema: bool = True
    supports_logprobs: bool = True
    supports_n: bool = False
    max_reply_tokens: int | None = None
    is_rehearsal: bool = False


REHEARSAL_URL = "http://127.0.0.1:8099/v1"
"""The default address of `creval fake-server`."""
CHAT_PROVIDERS = {
    provider.name: provider
    for provider in (
        ChatProvider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", supports_n=True),
        ChatProvider(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            supports_logprobs=False,
        ),
        # It silently ignores a schema and log-probabilities.
        ChatProvider(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            supports_schema=False,
            supports_logprobs=False,
        ),
        # Without a limit, it reserves credit for the longest possible reply.
        ChatProvider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", max_reply_tokens=8192),
        ChatProvider("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ChatProvider("rehearsal", REHEARSAL_URL, "CREVAL_API_KEY", is_rehearsal=True),
    )
}

REHEARSAL_MARK = "creval-rehearsal"
"""Marks replies of `creval fake-server`: the `Server` header of all, and the `system_fingerprint` of chat replies."""
CUSTOM_SERVER_KEY_ENV = "CREVAL_API_KEY"
"""The environment variable of the key for a custom server. A provider's key is never sent there."""

_PRICES = {
    "gpt-4o": (2.5, 10),
    "gpt-4o-mini": (0.15, 0.6),
    "gpt-4.1": (2, 8),
    "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4.1-nano": (0.1, 0.4),
    "o3": (2, 8),
    "o4-mini": (1.1, 4.4),
    "gpt-5": (1.25, 10),
    "gpt-5.1": (1.25, 10),
    "gpt-5-mini": (0.25, 2),
    "gpt-5-nano": (0.05, 0.4),
    "gpt-5.2": (1.75, 14),
    "gpt-5.4": (2.5, 15),
    "gpt-5.4-mini": (0.75, 4.5),
    "gpt-5.4-nano": (0.2, 1.25),
    "gpt-5.5": (5, 30),
    "gemini-2.0-flash": (0.1, 0.4),
    "gemini-2.5-pro": (1.25, 10),
    "gemini-2.5-flash": (0.3, 2.5),
    "gemini-2.5-flash-lite": (0.1, 0.4),
    "gemini-3-pro-preview": (2, 12),
    "gemini-3.1-pro-preview": (2, 12),
    "gemini-3-flash-preview": (0.5, 3),
    "claude-haiku-4-5": (1, 5),
    "claude-sonnet-4": (3, 15),
    "claude-sonnet-4-5": (3, 15),
    "claude-sonnet-5": (2, 10),
    "claude-opus-4": (15, 75),
    "claude-opus-4-1": (15, 75),
    "claude-opus-4-5": (5, 25),
    "claude-opus-5": (5, 25),
    "qwen-vl-max": (0.8, 3.2),
    "qwen-vl-plus": (0.21, 0.63),
}


def describe_judge(judge: str) -> str:
    """Return the name of a run's judge for display, marked if it is the rehearsal server."""
    return f"{judge} (rehearsal answers, not a judge's)" if has_rehearsal(judge) else judge


def find_list_price(model: str) -> Price | None:
    """Return a model's list price, or None if it is unknown. Vendor and date in the name are ignored.

    >>> find_list_price("openai/gpt-4o-2024-11-20")
    Price(tokens_in=2.5, tokens_out=10)
    """
    name = model.rpartition("/")[2].casefold()
    while name:
        if name in _PRICES:
            return Price(*_PRICES[name])
        # Only a date or "latest" may follow a known name.
        name, _, end = name.rpartition("-")
        if not (end.isdigit() or end == "latest"):
            return None
    return None


_THINKING_MODELS = re.compile(
    r"o[134](-|$)|gpt-5(?!.*chat)|gemini-2\.5-(pro|flash(?!-lite))|gemini-3|deepseek-r1|qwq|.*(thinking|reason)", re.I
)
_THINKING_TOKENS = {"none": 0, "minimal": 0, "low": 200, "medium": 600, "high": 1500}
"""Estimated number of thinking tokens before a reply about images, by `reasoning_effort`."""


def guess_thinking_tokens(model: str, parameters: Mapping[str, object]) -> int:
    """Return an estimate of a model's thinking tokens, which are charged as output; 0 for other models.

    >>> guess_thinking_tokens("gpt-5-mini", {}), guess_thinking_tokens("gpt-4o", {})
    (600, 0)
    """
    effort = parameters.get("reasoning_effort")
    if effort is None and not _THINKING_MODELS.match(model.rpartition("/")[2]):
        return 0
    return _THINKING_TOKENS.get(str(effort or "medium"), _THINKING_TOKENS["medium"])
