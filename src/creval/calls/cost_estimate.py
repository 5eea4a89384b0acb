"""Cost of calls before they are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CostEstimate:
    """Calls to come and calls that are answered already; images, bytes, tokens and money.

    `cost` is none where the price is not known; `unopened` counts edits whose images cannot be opened by their
    headers. Bytes are known only if every edit was looked at (`exact`). `role` tells models with different tasks apart.
    `thinking` is the guess of how many tokens each call thinks for, which `tokens_out` holds.
    """

    judge: str
    calls: int = 0
    cached: int = 0
    images: int = 0
    size: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    cost: float | None = None
    seconds: float = 0.0
    pace: float = 5.0
    unopened: int = 0
    exact: bool = True
    role: str = ""
    thinking: int = 0
