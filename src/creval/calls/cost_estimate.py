"""Estimated cost of planned calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CostEstimate:
    """Estimated calls, images, bytes, tokens, cost and duration for one model.

    - `calls`: calls to make.
    - `cached`: planned calls whose replies are already stored.
    - `size`: bytes of the images. It is known only if every edit was inspected (`exact`).
    - `cost`: US dollars. None if the price is unknown.
    - `unopened`: edits whose image headers cannot be read.
    - `role`: what the model does (such as `writer`), if a command uses several models.
    - `thinking`: estimated reasoning tokens of each call. They are included in `tokens_out`.
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
