"""Errors of calls to models."""

from __future__ import annotations

from creval.core.errors import CrevalError
from creval.core.redaction import hide_secrets


class CallError(Exception):
    """A call that brought no answer. `kind` is what is counted; `retry_after` what the server asks for.

    `retryable` says whether the same call can succeed later; `overloaded` that there were too many; `billed`
    that the judge may have done its work. `cost` is what such attempts may have cost.
    """

    cost = 0.0

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        retryable: bool = True,
        overloaded: bool = False,
        billed: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(hide_secrets(f"{kind}: {reason}" if reason else kind))
        self.kind, self.retryable, self.overloaded, self.retry_after = (kind, retryable, overloaded, retry_after)
        self.billed = billed


class ProviderUnusable(CrevalError):  # noqa: N818
    """A judge that will answer nothing until somebody mends something: key, model, credit."""
