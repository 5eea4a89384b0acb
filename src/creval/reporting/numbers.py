"""Formatting of coverage, values with intervals, and differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from creval.core.formatting import DEFAULT_DIGITS, format_interval, format_value
from creval.core.schema import Digits
from creval.reporting.output import TableCell

if TYPE_CHECKING:  # NumPy comes with it, and a replay has no use for that
    from creval.stats.intervals import Estimate, Proportion
    from creval.stats.scorecard import ScoreEstimate

_PERCENT_DIGITS = Digits(1, 1)


def format_percent(found: Estimate | Proportion, sign: str = "") -> tuple[str, str]:
    """Return a share and its interval, in percent."""
    number, low, high = (None if of is None else 100 * of for of in (found.value, *found.interval))
    return format_value(number, _PERCENT_DIGITS, sign), format_interval(low, high, _PERCENT_DIGITS, sign)


def format_coverage(cell: ScoreEstimate) -> str:
    """Return the coverage in percent, rounded down: only complete coverage is shown as 100 %."""
    if cell.total == 0:
        return "none"
    if cell.scored == cell.total:
        return "100 %"
    return f"{math.floor(1000 * cell.scored / cell.total) / 10:.1f} %"


def estimate_cell(estimate: Estimate, digits: Digits = DEFAULT_DIGITS, sign: str = "", mark: str = "") -> TableCell:
    """Return a table cell with a value and its interval below it."""
    ends = format_interval(estimate.low, estimate.high, digits, sign)
    return TableCell(format_value(estimate.value, digits, sign), ends, mark)


def format_estimate(estimate: Estimate, digits: Digits = DEFAULT_DIGITS, sign: str = "") -> str:
    """Return a value followed by its interval, such as `+0.73 [-0.2, +1.7]`."""
    cell = estimate_cell(estimate, digits, sign)
    return f"{cell.text} {cell.below}".rstrip()


def format_places(first: int, last: int) -> str:
    """Return a model's possible ranks: `2`, or `2 to 4`."""
    return f"{first}" if first == last else f"{first} to {last}"
