"""Errors of calls to models."""

from __future__ import annotations

from creval.core.errors import CrevalError
from creval.core.redaction import hide_secrets

REFUSALS = ("content filter", "refused")
"""The kinds of errors that say that a model declines."""
FUNCTION_FAILED, PROGRAM_FAILED = "the function failed", "the program failed"
_USER_CODE = (FUNCTION_FAILED, PROGRAM_FAILED)


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
        self.reason = hide_secrets(reason)
        self.kind, self.retryable, self.overloaded, self.retry_after = (kind, retryable, overloaded, retry_after)
        self.billed = billed

    def repeats(self, before: CallError | None) -> bool:
        """Return whether a user's code failed just as it did before, so that another attempt would fail as well."""
        return before is not None and self.kind in _USER_CODE and str(self) == str(before)


class Refused(Exception):  # noqa: N818
    """Raised by a user's function that declines to edit or to answer. The text is the reason."""


class ProviderUnusable(CrevalError):  # noqa: N818
    """A judge that will answer nothing until somebody mends something: key, model, credit."""
