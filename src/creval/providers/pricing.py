"""Prices of tokens, and what is believed of a server's own bill: its claims are checked, as a budget rests on them."""

from __future__ import annotations

import math
from dataclasses import dataclass

# A claim is believed if it is near the price: providers give 95 % off what is cached, and add to the list price.
_LEAST_SHARE, _MOST_SHARE = 0.05, 4.0
_DEAREST = 600.0  # US dollars for a million tokens, which no model costs


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def checked_cost(claimed: object, expected: float | None, tokens: float = 0.0) -> float | None:
    """Return what a call is taken to have cost: the server's claim, or else what is expected by the price.

    Without a price, a claim is believed unless no model would cost so much for so many `tokens`.

    >>> checked_cost(0.002, expected=0.0035), checked_cost(0, expected=0.0035), checked_cost(29e6, expected=0.0035)
    (0.002, 0.0035, 0.0035)
    """
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not 0 <= claimed < math.inf:
        return expected
    if expected is None:
        return float(claimed) if claimed <= _DEAREST * tokens / 1e6 else None
    return float(claimed) if _LEAST_SHARE * expected <= claimed <= _MOST_SHARE * expected else expected


def checked_tokens(claimed: int | None, expected: float, chars: int) -> int | None:
    """Return the tokens that a server counts, or None if a text of `chars` characters cannot have so few, or a request
    of so many `expected` tokens cannot have so many.

    >>> [checked_tokens(claim, expected=900, chars=2000) for claim in (1100, 0, 10**7)]
    [1100, None, None]
    """
    if claimed is None or claimed < chars // _MAX_CHARS_PER_TOKEN:
        return None
    return claimed if claimed <= _MAX_EXCESS * (expected + _FREE_TOKENS) else None


_MAX_CHARS_PER_TOKEN = 50
_MAX_EXCESS = 100  # images may take 20 times what is expected of an unknown model
_FREE_TOKENS = 2000  # thinking, and what a server adds to a request
