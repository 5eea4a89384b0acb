"""Prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6
