"""Prices of tokens, and plausibility checks of the costs and token counts that servers report.

Budgets are based on these numbers, so a server's claims are not trusted blindly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from creval.core.errors import require_amount

MAX_DOLLARS = 1e6
"""Largest price or budget that can be given."""

# A reported cost is accepted if it is near the expected one. Providers discount cached tokens by up to 95 %, and some
# charge more than the list price.
_LEAST_SHARE, _MOST_SHARE = 0.05, 4.0
_MAX_PRICE = 600.0  # US dollars per million tokens, more than any model costs


@dataclass(frozen=True)
class Price:
    """US dollars per million input and output tokens."""

    tokens_in: float
    tokens_out: float

    def __post_init__(self) -> None:
        for price in (self.tokens_in, self.tokens_out):
            require_amount("price", price, MAX_DOLLARS)

    def cost(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def checked_cost(claimed: object, expected: float | None, tokens: float = 0.0) -> float | None:
    """Return the cost of a call: the server's claim if it is plausible, or else the expected cost.

    If the expected cost is unknown, a claim is accepted up to a maximum price for the given `tokens`.

    >>> checked_cost(0.002, expected=0.0035), checked_cost(0, expected=0.0035), checked_cost(29e6, expected=0.0035)
    (0.002, 0.0035, 0.0035)
    """
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not 0 <= claimed < math.inf:
        return expected
    if expected is None:
        return float(claimed) if claimed <= _MAX_PRICE * tokens / 1e6 else None
    return float(claimed) if _LEAST_SHARE * expected <= claimed <= _MOST_SHARE * expected else expected


def checked_tokens(claimed: int | None, expected: float, chars: int) -> int | None:
    """Return a server's token count if it is plausible, or None.

    A count is implausible if it is too low for a text of `chars` characters, or too high for a request that is
    estimated at `expected` tokens.

    >>> [checked_tokens(claim, expected=900, chars=2000) for claim in (1100, 0, 10**7)]
    [1100, None, None]
    """
    if claimed is None or claimed < chars // _MAX_CHARS_PER_TOKEN:
        return None
    return claimed if claimed <= _MAX_EXCESS * (expected + _FREE_TOKENS) else None


_MAX_CHARS_PER_TOKEN = 50
_MAX_EXCESS = 100  # images may take 20 times the expected tokens with an unknown model
_FREE_TOKENS = 2000  # thinking tokens, and tokens that a server adds to a request
