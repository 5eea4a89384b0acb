"""Errors of calls to models: `CallError`, `Refused` and `ProviderUnusable`."""

from __future__ import annotations

from creval.core.errors import CrevalError
from creval.core.redaction import hide_secrets

REFUSALS = ("content filter", "refused")
"""The kinds of errors that mean that a model declined."""
FUNCTION_FAILED, PROGRAM_FAILED = "the function failed", "the program failed"
_USER_CODE = (FUNCTION_FAILED, PROGRAM_FAILED)


class CallError(Exception):
    """A failed call.

    `kind` is the category that is counted in summaries. `retryable`: the same call may succeed later. `overloaded`: the
    server received too many calls. `billed`: the call may be charged. `retry_after` is the wait in seconds that the
    server asked for. `cost` is the possible cost of the failed attempts.
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
        self.reason = hide_secrets(reason)
        self.kind, self.retryable, self.overloaded, self.retry_after = (kind, retryable, overloaded, retry_after)
        self.billed = billed

    def repeats(self, before: CallError | None) -> bool:
        """Return True if a user's code failed with the same message as before, so that a retry is pointless."""
        return before is not None and self.kind in _USER_CODE and str(self) == str(before)


class Refused(Exception):  # noqa: N818
    """Raised by a user's function that declines to edit or to answer. The message is the reason."""


class ProviderUnusable(CrevalError):  # noqa: N818
    """A problem that makes all calls to a provider fail until the user fixes it, such as a wrong key or no credit."""
