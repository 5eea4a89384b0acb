"""Making one model's calls: slots, pace, money, and trying again what brought no answer.

A call is any request that may fail and be made again, of a judge or of an editor.
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

_MAX_CONSECUTIVE_FAILURES = 8  # calls given up, none answered between them: something is wrong
_MAX_CONNECTION_FAILURES = 3


@dataclass
class Progress:
    """What a run has done so far.

    `calls` are those planned, and those added because a reply left something open; `done` those that are through, of
    which `cached` needed no asking; `shared` of these were answered in another run, for `saved` US dollars.
    `measurements_done` counts what metrics measured. `tokens_estimated` says that a server does not count its tokens,
    so they and the cost are estimates; `unpriced` that some prices are unknown.
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
        """US dollars; none where not all prices are known."""
        return None if self.unpriced else self.cost

    @property
    def calls_answered(self) -> int:
        """Requests that brought a reply: what is called a call wherever calls are counted."""
        return self.requests_sent - self.error_counts.total() - self.in_flight


ProgressCallback = Callable[[Progress], None]


class Usage(NamedTuple):
    """What a call takes, as a guess, or took, as far as that is known: tokens, and US dollars."""

    tokens_in: float | None = 0
    tokens_out: float | None = 0
    cost: float | None = None

    @property
    def tokens(self) -> float:
        return (self.tokens_in or 0) + (self.tokens_out or 0)


@dataclass(frozen=True)
class CompletedCall(Generic[A]):
    """An answer, what it cost with all attempts if that is known, its latency, and which attempt it was."""

    response: A
    cost: float | None
    latency: float
    attempt: int


class CallStoppedError(Exception):
    """A call that was not made because the signal to stop had come."""


class RetryingCaller(ABC, Generic[R, A]):
    """Makes calls to one model, each until it is answered or given up; `has_succeeded`: it answered before."""

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
        """What it will take."""

    @abstractmethod
    def read_usage(self, response: A) -> Usage:
        """What it took."""

    async def call(self, request: R) -> CompletedCall[A]:
        """The answer; `CallError` where there is none, `CallStoppedError` where it was not asked for."""
        wasted, before = 0.0, None
        for attempt in range(1, self._attempts + 1):
            if self._stop_signal:
                raise CallStoppedError
            guess = self.estimate_usage(request)
            aside = guess.cost or 0.0
            began = await self._limiter.acquire(guess.tokens, self._stop_signal)
            self.progress.in_flight += 1
            try:
                if self._stop_signal:
                    raise CallStoppedError
                if not await self._budget.reserve(aside, self._stop_signal):
                    self._stop_signal.set("budget")
                    raise CallStoppedError
                cost = 0.0
                self.progress.requests_sent += 1
                sent_at = time.monotonic()
                try:
                    answer = await self.send(request)
                    took = self.read_usage(answer)
                    cost = aside if took.cost is None else took.cost
                except CallError as fault:
                    cost = aside if fault.billed else 0.0
                    raise
                finally:
                    self._budget.settle(aside, cost)
            except CallError as fault:
                wasted += cost
                self.progress.cost += cost
                fault.cost = wasted
                self.progress.error_counts[fault.kind] += 1
                if fault.overloaded:
                    self._limiter.record_overload(began, fault.retry_after)
                if not fault.retryable or attempt == self._attempts or fault.repeats(before):
                    raise
                before = fault
                self._check_reachable(fault)
                wait = max(backoff(attempt - 1, self._rng), fault.retry_after or 0.0)
            else:
                self._limiter.record_success()
                if took.tokens_in is None or took.tokens_out is None:
                    self.progress.tokens_estimated = True
                    self.progress.tokens_in += round(guess.tokens_in or 0)
                    self.progress.tokens_out += round(guess.tokens_out or 0)
                else:
                    self._limiter.correct_tokens(guess.tokens, took.tokens)
                self.progress.cost += cost
                known = guess.cost is not None or took.cost is not None
                self.progress.unpriced |= not known and bool(guess.tokens)
                whole = cost + wasted if known else None
                return CompletedCall(answer, whole, time.monotonic() - sent_at, attempt)
            finally:
                self.progress.in_flight -= 1
                self._limiter.release()
            await self._stop_signal.sleep(wait)
        raise CallStoppedError

    def _check_reachable(self, error: CallError) -> None:
        """A server that was never reached is not waited for: the address is wrong, or it is off."""
        if self._has_succeeded or error.kind != "no connection":
            return
        self._connection_failures += 1
        if self._connection_failures >= _MAX_CONNECTION_FAILURES:
            raise ProviderUnusable(f"{self.name} cannot be reached ({error}). Is it running there?")

    def record_success(self, response: A) -> None:
        """A call was answered, and its answer is kept."""
        self._has_succeeded, self._consecutive_failures = True, 0
        took = self.read_usage(response)
        self.progress.tokens_in += int(took.tokens_in or 0)
        self.progress.tokens_out += int(took.tokens_out or 0)

    def record_failure(self, error: CallError) -> None:
        """A call was given up. `ProviderUnusable` where that happens too often to go on."""
        self._consecutive_failures += 1
        # A request that is bad says nothing about others, once one was answered.
        if self._consecutive_failures >= _MAX_CONSECUTIVE_FAILURES and (error.retryable or not self._has_succeeded):
            which = "last" if self._has_succeeded else "first"
            raise ProviderUnusable(
                f"{self.name}: none of the {which} {self._consecutive_failures} calls was answered ({error})."
                " What was answered before is kept; repeat the command to go on."
            )

    def failed_reply(self, error: CallError, text: str | None = None) -> Reply:
        """Return the reply to keep of a call that was given up."""
        status = VerdictStatus.REFUSED if error.kind in REFUSALS else VerdictStatus.FAILED
        return Reply(status, text, self.name, self._attempts, cost=error.cost or None)


class JudgeCaller(RetryingCaller[JudgeRequest, JudgeResponse]):
    """Makes the calls to one judge."""

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
