"""Lists that are too long for one page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from creval.core.errors import CrevalError
from creval.web.pages import link

PAGE = 25
"""Lines of a list."""


class Page(NamedTuple):
    """Which lines of a list are shown, and where the others are."""

    number: int
    last: int
    total: int
    previous: str
    next: str

    @property
    def first_line(self) -> int:
        return (self.number - 1) * PAGE + 1

    @property
    def last_line(self) -> int:
        return min(self.number * PAGE, self.total)


def paged(number: str, count: int, path: str, given: Mapping[str, str]) -> Page:
    """The page of this number, or the last one there is."""
    last = max(1, math.ceil(count / PAGE))
    if number and not (number.isascii() and number.isdigit()):
        raise CrevalError(f"a page is a number, not {number!r}.")
    at = min(max(1, int(number[:9] or 1)), last)

    def to(page: int) -> str:
        return link(path, **given, page=page if page > 1 else "") if 1 <= page <= last else ""

    return Page(at, last, count, to(at - 1), to(at + 1))
