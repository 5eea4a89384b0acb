"""Errors of calls to models."""

from __future__ import annotations

from creval.core.errors import CrevalError


class Fault(Exception):  # noqa: N818
    """A call that brought no answer. `kind` is what is counted; `wait` what the server asks for.

    `again` says whether the same call can succeed later; `crowded` that there were too many; `paid`
    that the judge may have done its work. `wasted` is what such attempts may have cost.
    """

    wasted = 0.0

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        again: bool = True,
        crowded: bool = False,
        paid: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(f"{kind}: {reason}" if reason else kind)
        self.kind, self.again, self.crowded, self.wait = kind, again, crowded, wait
        self.paid = paid


class Unusable(CrevalError):  # noqa: N818
    """A judge that will answer nothing until somebody mends something: key, model, credit."""
