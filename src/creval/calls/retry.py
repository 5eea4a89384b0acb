"""Calls to one model within its limits and the budget, with retries.

A call is a request to a judge or an editor. It may fail and be retried.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from creval.calls.limits import ConcurrencyLimiter, backoff
from creval.calls.settings import ChatSettings
from creval.core.call import Reply
from creval.core.verdict import VerdictStatus
from creval.judges.base import Judge, JudgeRequest, JudgeResponse, estimate_tokens
from creval.providers.call_errors import REFUSALS, CallError, ProviderUnusable

if TYPE_CHECKING:
    from creval.calls.call_session import CallSession

R = TypeVar("R")
A = TypeVar("A")

_MAX_CONSECUTIVE_FAILURES = 8  # failed calls without an answered one between them
_MAX_CONNECTION_FAILURES = 3


@dataclass
class Progress:
    """Progress of a run.

    - `calls`: planned calls, including those added to re-ask unanswered questions.
    - `done`: finished calls.
    - `cached`: finished calls whose replies were already stored.
    - `shared`: cached calls whose answers come from another run.
    - `saved`: US dollars that the `shared` calls would have cost.
    - `measurements_total`, `measurements_done`: planned and finished measurements of metrics.
    - `tokens_estimated`: the server does not report tokens, so tokens and cost are estimates.
    - `unpriced`: some prices are unknown.
    """

    calls: int = 0
    done: int = 0
    cached: int = 0
    shared: int = 0
    saved: float = 0.0
    requests_sent: int = 0
    answered: int = 0
    unanswered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    tokens_estimated: bool = False
    unpriced: bool = False
    in_flight: int = 0
    stopping: bool = False
    unreadable_questions: int = 0
    measurements_total: int = 0
    measurements_done: int = 0
    error_counts: Counter[str] = field(default_factory=Counter)
    unreadable_edits: dict[str, str] = field(default_factory=dict)
    started_at: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float | None:
        """Cost in US dollars. None if a price is unknown."""
        return None if self.unpriced else self.cost

    @property
    def calls_answered(self) -> int:
        """Number of requests that were answered. This is the number of calls that users see."""
        return self.requests_sent - self.error_counts.total() - self.in_flight


ProgressCallback = Callable[[Progress], None]


class Usage(NamedTuple):
    """Tokens and US dollars of a call, estimated or as reported by the server. Unknown values are None."""

    tokens_in: float | None = 0
    tokens_out: float | None = 0
    cost: float | None = None

    @property
    def tokens(self) -> float:
        return (self.tokens_in or 0) + (self.tokens_out or 0)


@dataclass(frozen=True)
class CompletedCall(Generic[A]):
    """Response of a call, cost of all attempts (None if unknown), latency, and the number of the answered attempt."""

    response: A
    cost: float | None
    latency: float
    attempt: int


class CallStoppedError(Exception):
    """The call was not made because the stop signal was set."""


class RetryingCaller(ABC, Generic[R, A]):
    """Caller of one model. Retries each call until it is answered or may not be retried again.

    `has_succeeded` means that the model has answered before, e.g. in an earlier start of the run.
    """

    def __init__(
        self,
        name: str,
        limiter: ConcurrencyLimiter,
        attempts: int,
        session: CallSession,
        *,
        has_succeeded: bool = False,
    ) -> None:
        self.name, self.progress = name, session.progress
        self._limiter, self._attempts = limiter, attempts
        self._budget, self._stop_signal = session.budget, session.stop_signal
        self._rng = random.Random()  # noqa: S311 (jitter)
        self._has_succeeded = has_succeeded
        self._consecutive_failures = self._connection_failures = 0

    @abstractmethod
    async def send(self, request: R) -> A:
        """Make the call once."""

    @abstractmethod
    def estimate_usage(self, request: R) -> Usage:
        """Return the estimated usage of a request."""

    @abstractmethod
    def read_usage(self, response: A) -> Usage:
        """Return the reported usage of a response."""

    async def call(self, request: R) -> CompletedCall[A]:
        """Make the call, with retries, and return its response.

        Raises `CallError` if all attempts failed, and `CallStoppedError` if the call was not made.
        """
        wasted, previous = 0.0, None
        for attempt in range(1, self._attempts + 1):
            if self._stop_signal:
                raise CallStoppedError
            estimate = self.estimate_usage(request)
            reserved = estimate.cost or 0.0
            started = await self._limiter.acquire(estimate.tokens, self._stop_signal)
            self.progress.in_flight += 1
            try:
                if self._stop_signal:
                    raise CallStoppedError
                if not await self._budget.reserve(reserved, self._stop_signal):
                    self._stop_signal.set("budget")
                    raise CallStoppedError
                cost = 0.0
                self.progress.requests_sent += 1
                sent_at = time.monotonic()
                try:
                    answer = await self.send(request)
                    usage = self.read_usage(answer)
                    cost = reserved if usage.cost is None else usage.cost
                except CallError as error:
                    cost = reserved if error.billed else 0.0
                    raise
                finally:
                    self._budget.settle(reserved, cost)
            except CallError as error:
                wasted += cost
                self.progress.cost += cost
                error.cost = wasted
                self.progress.error_counts[error.kind] += 1
                if error.overloaded:
                    self._limiter.record_overload(started, error.retry_after)
                if not error.retryable or attempt == self._attempts or error.repeats(previous):
                    raise
                previous = error
                self._check_reachable(error)
                wait = max(backoff(attempt - 1, self._rng), error.retry_after or 0.0)
            else:
                self._limiter.record_success()
                if usage.tokens_in is None or usage.tokens_out is None:
                    self.progress.tokens_estimated = True
                    self.progress.tokens_in += round(estimate.tokens_in or 0)
                    self.progress.tokens_out += round(estimate.tokens_out or 0)
                else:
                    self._limiter.correct_tokens(estimate.tokens, usage.tokens)
                self.progress.cost += cost
                known = estimate.cost is not None or usage.cost is not None
                self.progress.unpriced |= not known and bool(estimate.tokens)
                total = cost + wasted if known else None
                return CompletedCall(answer, total, time.monotonic() - sent_at, attempt)
            finally:
                self.progress.in_flight -= 1
                self._limiter.release()
            await self._stop_signal.sleep(wait)
        raise CallStoppedError

    def _check_reachable(self, error: CallError) -> None:
        """Raise `ProviderUnusable` after several failed connections if the server was never reached.

        Probably the server's address is wrong, or the server is not running.
        """
        if self._has_succeeded or error.kind != "no connection":
            return
        self._connection_failures += 1
        if self._connection_failures >= _MAX_CONNECTION_FAILURES:
            raise ProviderUnusable(f"{self.name} cannot be reached ({error}). Is the server running at this address?")

    def record_success(self, response: A) -> None:
        """Count an answered call, after its answer was stored."""
        self._has_succeeded, self._consecutive_failures = True, 0
        usage = self.read_usage(response)
        self.progress.tokens_in += int(usage.tokens_in or 0)
        self.progress.tokens_out += int(usage.tokens_out or 0)

    def record_failure(self, error: CallError) -> None:
        """Count a failed call. Raises `ProviderUnusable` after too many failures in a row."""
        self._consecutive_failures += 1
        # If the model has answered before, a bad request is not a sign that it is unusable.
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES and (error.retryable or not self._has_succeeded):
            which = "last" if self._has_succeeded else "first"
            raise ProviderUnusable(
                f"{self.name}: none of the {which} {self._consecutive_failures} calls was answered ({error})."
                " Earlier answers are stored. Repeat the command to resume."
            )

    def failed_reply(self, error: CallError, text: str | None = None) -> Reply:
        """Return the reply to store for a failed call."""
        status = VerdictStatus.REFUSED if error.kind in REFUSALS else VerdictStatus.FAILED
        return Reply(status, text, self.name, self._attempts, cost=error.cost or None)


class JudgeCaller(RetryingCaller[JudgeRequest, JudgeResponse]):
    """`RetryingCaller` of one judge."""

    def __init__(
        self, judge: Judge, settings: ChatSettings, session: CallSession, *, has_succeeded: bool = False
    ) -> None:
        limits = ConcurrencyLimiter(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
        super().__init__(judge.name, limits, settings.attempts, session, has_succeeded=has_succeeded)
        self.judge = judge

    async def send(self, request: JudgeRequest) -> JudgeResponse:
        return await self.judge.ask(request)

    def estimate_usage(self, request: JudgeRequest) -> Usage:
        tokens = estimate_tokens(self.judge, request)
        price = self.judge.price
        return Usage(*tokens, price.cost(*tokens) if price else None)

    def read_usage(self, response: JudgeResponse) -> Usage:
        return Usage(response.tokens_in, response.tokens_out, response.cost)
