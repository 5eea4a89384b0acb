"""Shares of simple counts, with their intervals."""

from __future__ import annotations

import math
from typing import NamedTuple

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""


class Share(NamedTuple):
    """So many of so many, with the 95 % interval of the share behind it; none where there are
    none."""

    found: int
    total: int

    @property
    def value(self) -> float | None:
        return self.found / self.total if self.total else None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Wilson's interval, which holds also where nearly all or nearly none are."""
        return wilson(self.found, self.total) if self.total else (None, None)


def wilson(found: float, total: float, z: float = Z) -> tuple[float, float]:
    """Wilson's score interval of a share.

    >>> tuple(round(end, 4) for end in wilson(0, 10))
    (0.0, 0.2775)
    """
    share = found / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
